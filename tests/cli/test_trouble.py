"""What can go wrong in the middle of a run: one clear line, and the last good state kept."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

from recoseg.methods.mean_teacher import MeanTeacher
from recoseg.training import trainer
from recoseg.types import ModelOutput

AT = 3  # the iteration, from 0, that goes wrong; a state was saved after iteration 2


@pytest.fixture
def fail_at(monkeypatch):
    """`fail_at(change)`: one step of Mean Teacher gives what `change(output, labelled, unlabelled)` does."""
    original = MeanTeacher.step

    def install(change) -> None:
        def step(self, labelled, unlabelled, *, iteration, generator):
            output = original(self, labelled, unlabelled, iteration=iteration, generator=generator)
            return change(output, labelled, unlabelled) if iteration == AT else output

        monkeypatch.setattr(MeanTeacher, "step", step)

    return install


def test_a_loss_that_is_not_finite_tells_where_and_the_last_state_can_be_resumed(
    recoseg, tmp_path, small, classmix_and_contrast, fail_at, require_same_end
) -> None:
    settings = [*small, *classmix_and_contrast]
    assert recoseg("train", "--out", "whole", *settings).code == 0
    keys = []

    def spoil(output, labelled, unlabelled):
        keys.extend((*labelled.keys, *unlabelled.keys))
        spoilt = output.loss * float("nan")
        return replace(output, loss=spoilt, parts={**output.parts, "unsupervised": spoilt.detach()})

    fail_at(spoil)
    outcome = recoseg("train", "--out", "cut", *settings)
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert "the loss is nan at iteration 4 (supervised " in outcome.err
    assert "unsupervised nan, contrast " in outcome.err
    assert f"on images {', '.join(keys)}; the last saved state is kept" in outcome.err
    assert len(keys) == 4
    assert torch.load(tmp_path / "cut" / "state.pt", weights_only=True)["iteration"] == 2
    fail_at(lambda output, labelled, unlabelled: output)
    assert recoseg("train", "--resume", "cut").code == 0
    require_same_end(tmp_path / "whole", tmp_path / "cut")


def test_weights_that_are_not_finite_never_replace_good_ones(
    recoseg, tmp_path, small, monkeypatch, lines
) -> None:
    """The gradient overflows while the loss is still finite, just before an evaluation."""
    original = trainer.Precision.update

    def update(self, optimisers, clip):
        group = next(iter(optimisers)).param_groups[0]
        if group["lr"] < 0.001:  # the fourth and last step
            group["params"][0].grad.fill_(float("inf"))
        original(self, optimisers, clip)

    monkeypatch.setattr(trainer.Precision, "update", update)
    outcome = recoseg("train", "--out", "run", *small)
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert "are not finite after iteration 4; the last saved state is kept" in outcome.err
    state = torch.load(tmp_path / "run" / "state.pt", weights_only=True)
    assert state["iteration"] == 2
    assert all(tensor.isfinite().all() for tensor in state["method"].values())
    weights = load_file(tmp_path / "run" / "weights.safetensors")
    assert all(tensor.isfinite().all() for tensor in weights.values())
    assert [line["iteration"] for line in lines(tmp_path / "run" / "metrics.jsonl")] == [2]


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory"),
    ],
)
def test_out_of_memory_is_one_line_with_remedies(
    recoseg, tmp_path, small, classmix_and_contrast, fail_at, error
) -> None:
    def run_out(output, labelled, unlabelled):
        raise error

    fail_at(run_out)
    outcome = recoseg("train", "--out", "run", *small, *classmix_and_contrast)
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert outcome.err.startswith("recoseg: out of memory; smaller steps need less: train.accumulate 2")
    assert "The last saved state of run is kept." in outcome.err
    assert torch.load(tmp_path / "run" / "state.pt", weights_only=True)["iteration"] == 2


def test_a_mistake_of_ours_stays_a_traceback(recoseg, small, classmix_and_contrast, fail_at) -> None:
    def fail(output, labelled, unlabelled):
        raise RuntimeError("The size of tensor a (3) must match the size of tensor b (4)")

    fail_at(fail)
    with pytest.raises(RuntimeError, match="must match"):
        recoseg("train", "--out", "run", *small, *classmix_and_contrast)


def test_the_contrast_on_a_network_without_features_is_one_line(
    recoseg, small, classmix_and_contrast, fail_at
) -> None:
    def without_features(output, labelled, unlabelled):
        pixels = [(ModelOutput(predicted.logits), labels) for predicted, labels in output.pixels]
        return replace(output, pixels=pixels)

    fail_at(without_features)
    outcome = recoseg("train", "--out", "run", *small, *classmix_and_contrast)
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert "the contrast needs a network that gives features" in outcome.err
