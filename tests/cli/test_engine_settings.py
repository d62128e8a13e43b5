"""Accumulation, clipping, half precision and channels last: whole runs that set them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import yaml
from safetensors.torch import load_file

QUICK = ["--train.iterations=3", "--train.evaluate-every=3"]


@pytest.fixture
def losses_with(recoseg, tmp_path, small, classmix_and_contrast, lines):
    """`losses_with("--train.clip=1")`: the losses of a run of ClassMix and contrast with these settings."""

    def run(*words: str) -> list[float]:
        name = "".join(words).strip("-") or "plain"
        outcome = recoseg("train", "--out", name, *small, *classmix_and_contrast, *QUICK, *words)
        assert outcome.code == 0, outcome.err
        return [line["loss"] for line in lines(tmp_path / name / "losses.jsonl")]

    return run


def test_channels_last_changes_nothing_but_rounding(
    recoseg, tmp_path, tiny, classmix_and_contrast, lines
) -> None:
    """Without dropout, which draws its mask in the order of memory; later steps amplify the rounding.

    The contrast draws pixels by numbers that were rounded: now and then it gets one of its keys elsewhere.
    """
    settings = [*tiny, *classmix_and_contrast, *QUICK, "--split.labels=2", "--model.dropout=0"]
    found = []
    for value in ("false", "true"):
        outcome = recoseg("train", "--out", value, *settings, f"--train.channels-last={value}")
        assert outcome.code == 0, outcome.err
        found.append(lines(tmp_path / value / "losses.jsonl"))
    for part in ("supervised", "unsupervised"):
        assert found[1][0][part] == pytest.approx(found[0][0][part], rel=1e-5), part
    assert found[1][0]["contrast"] == pytest.approx(found[0][0]["contrast"], rel=1e-2)
    losses = [[line["loss"] for line in run] for run in found]
    assert losses[1] == pytest.approx(losses[0], rel=0.05)


# The convolutions of `small` in float32, with answers in 16 bits: what every machine can compute.
WHOLE_CONVOLUTIONS = """
import torch
from torch import nn
import small_network

class Whole(nn.Conv2d):
    def forward(self, images):
        with torch.autocast("cpu", enabled=False):
            answer = super().forward(images.float())
        return answer.to(torch.get_autocast_dtype("cpu")) if torch.is_autocast_enabled("cpu") else answer

def whole(num_classes):
    network = small_network.small(num_classes)
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d):
            layer.__class__ = Whole
    return network
"""


@pytest.fixture
def whole_convolutions(tmp_path, monkeypatch) -> list[str]:
    """Settings, after those of `small`, of a run in 16 bits on a CPU, without its kernels for them."""
    (tmp_path / "whole_network.py").write_text(WHOLE_CONVOLUTIONS)
    monkeypatch.setattr("recoseg.runs.start.require_gpu", lambda precision: None)
    return ["--model.factory=whole_network:whole"]


def require_float32_weights_and_a_scale_for_float16(run: Path, precision: str) -> None:
    scaler = torch.load(run / "state.pt", weights_only=True)["scaler"]
    assert (scaler.get("scale") is not None) == (precision == "float16")
    kept = {tensor.dtype for tensor in load_file(run / "weights.safetensors").values()}
    assert kept <= {torch.float32, torch.int64}


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_answers_in_half_precision_train_a_run_with_nearly_the_same_losses(
    recoseg, tmp_path, small, whole_convolutions, lines, precision
) -> None:
    """The same on every machine."""
    settings = [*small, *whole_convolutions, *QUICK]
    for name in ("float32", precision):
        outcome = recoseg("train", "--out", name, *settings, f"--train.precision={name}")
        assert outcome.code == 0, outcome.err
    half, whole = (
        [line["loss"] for line in lines(tmp_path / name / "losses.jsonl")] for name in (precision, "float32")
    )
    assert half == pytest.approx(whole, rel=0.03)
    assert half != whole
    require_float32_weights_and_a_scale_for_float16(tmp_path / precision, precision)


def test_half_precision_resumes_with_its_scale(
    recoseg, tmp_path, small, whole_convolutions, full_disk_at, require_same_end
) -> None:
    settings = [*small, *whole_convolutions, "--train.precision=float16"]
    assert recoseg("train", "--out", "whole", *settings).code == 0
    with full_disk_at(3):
        assert recoseg("train", "--out", "cut", *settings).code == 1
    assert recoseg("train", "--resume", "cut").code == 0
    require_same_end(tmp_path / "whole", tmp_path / "cut")
    scales = [
        torch.load(tmp_path / run / "state.pt", weights_only=True)["scaler"] for run in ("whole", "cut")
    ]
    assert scales[0] == scales[1]


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_sixteen_bits_on_a_cpu_are_one_line_before_the_run_begins(
    recoseg, tmp_path, small, precision
) -> None:
    outcome = recoseg("train", "--out", "run", *small, f"--train.precision={precision}")
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert f"train.precision {precision}" in outcome.err
    assert "need a GPU; use train.precision float32" in outcome.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("precision", ["auto", "float32"])
def test_auto_is_float32_on_a_cpu(recoseg, small, precision) -> None:
    assert recoseg("train", "--out", "run", *small, f"--train.precision={precision}").code == 0


def test_a_clipped_step_moves_the_weights_by_the_norm_asked_for(recoseg, tmp_path, small) -> None:
    more = ["--train.iterations=1", "--optimiser.lr=1", "--optimiser.weight-decay=0"]
    moved = []
    for clip in (1e-9, 0.01):
        assert recoseg("train", "--out", f"clip{clip:g}", *small, *more, f"--train.clip={clip:g}").code == 0
        weights = load_file(tmp_path / f"clip{clip:g}" / "weights.safetensors")
        moved.append(
            torch.cat([weights[name].flatten() for name in weights if name.endswith(("weight", "bias"))])
        )
    # Nesterov's first step is 1 + 0.9 times the gradient.
    assert (moved[1] - moved[0]).norm().item() == pytest.approx(1.9 * 0.01, rel=1e-3)


def test_a_step_in_two_parts_trains_on_the_same_images(recoseg, tmp_path, small, lines) -> None:
    """BatchNorm sees other batches, so the losses differ, but not by much."""
    settings = [*small, *QUICK, "--train.labelled-per-step=4", "--augment.jitter=0", "--augment.blur=0"]
    found = []
    for parts in (1, 2):
        outcome = recoseg("train", "--out", f"in{parts}", *settings, f"--train.accumulate={parts}")
        assert outcome.code == 0, outcome.err
        found.append([line["loss"] for line in lines(tmp_path / f"in{parts}" / "losses.jsonl")])
    assert found[0] == pytest.approx(found[1], rel=0.1)
    assert found[0] != found[1]


def test_rare_classes_and_hard_pixels_count_more_if_wanted(recoseg, tmp_path, small, lines) -> None:
    """The first step of all is the same batch and network: only how pixels count differs."""
    first = {}
    for name in ("--train.class_weights=none", "--train.class_weights=root", "--train.ohem_below=0.01"):
        run = tmp_path / name
        assert recoseg("train", *small, name, "--out", run, "--no-page").code == 0
        first[name] = lines(run / "losses.jsonl")[0]["loss"]
    plain, weighted, hard = first.values()
    assert plain != weighted
    assert hard > plain  # of the hardest sixth


def test_crops_of_rare_classes_frozen_stages_and_fitting_rates_train_through_the_command_line(
    recoseg, tmp_path, tiny, classmix_and_contrast
) -> None:
    more = [
        "--augment.rare=0.5", "--model.frozen_stages=2", "--model.rates=fit", "--model.pooling_norm=false",
        "--augment.jitter_strength=0.5", "--method.warm_up=fast", "--method.pixel_above=0.1",
        "--contrast.hard_share=0.25", "--split.labels=3", "--split.random=true", "--method.align=true",
    ]  # fmt: skip
    run = tmp_path / "run"
    done = recoseg("train", *tiny, *classmix_and_contrast, *more, "--out", run)
    assert done.code == 0, done.err
    assert "frozen:  the first 2 stages of the encoder" in done.out
    config = yaml.safe_load((run / "config.yaml").read_text())
    assert config["model"]["rates"] == "1,1,2"  # a tenth of 6, 12 and 18: the crop is 32 pixels, not 320
    assert recoseg("evaluate", run).code == 0


def test_wrong_rates_are_named(recoseg, tmp_path, tiny) -> None:
    wrong = recoseg("train", *tiny, "--model.rates=3,x", "--out", tmp_path / "run")
    assert (wrong.code, wrong.err.count("\n")) == (1, 1)
    assert "model.rates: expected paper, fit, or numbers such as 3,6,9, got '3,x'" in wrong.err
