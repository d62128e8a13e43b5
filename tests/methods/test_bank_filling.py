"""Which pixels of a step enter a feature bank."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.distributed
import torch.multiprocessing
from torch import Tensor, nn

from recoseg import RegionalContrast
from recoseg.augment.strong import StrongView
from recoseg.errors import UserError
from recoseg.losses import FeatureBank
from recoseg.methods.mean_teacher import MeanTeacher
from recoseg.methods.parts.contrast import ContrastTerm
from recoseg.methods.supervised import Supervised
from recoseg.training.processes import in_parallel
from recoseg.types import IGNORE, Batch, ModelOutput, PseudoLabels, StepOutput


def term(**settings: object) -> ContrastTerm:
    bank = FeatureBank(2, 1, size=8, per_step=8)
    return ContrastTerm(contrast=RegionalContrast(num_queries=2, num_keys=2, bank=bank), **settings)  # type: ignore[arg-type]


def predicted(features: list[float], of_one: list[float]) -> ModelOutput:
    """One row: the feature of each cell, and its probability of class 1."""
    probability = torch.tensor(of_one)
    logits = torch.stack([1 - probability, probability]).log()[None, :, None]
    return ModelOutput(logits, torch.tensor(features, dtype=torch.float)[None, None, None])


def step() -> tuple[StepOutput, Batch]:
    """Four labelled cells, of which the third is wrong, and three with pseudo-labels."""
    labels = torch.tensor([[[0, 1, 1, IGNORE]]])
    on_labelled = predicted([1, 2, 3, 4], [0.4, 0.96, 0.3, 0.99])
    pseudo = PseudoLabels(torch.tensor([[[0, 1, 1, 0]]]), torch.tensor([[[0.9, 0.9, 0.9, 0.3]]]))
    on_unlabelled = predicted([5, 6, 7, 8], [0.02, 0.97, 0.8, 0.01])
    pixels = [(on_labelled, PseudoLabels.certain(labels)), (on_unlabelled, pseudo)]
    return StepOutput(torch.tensor(0.0), pixels=pixels), Batch(torch.zeros(1, 3, 1, 4), labels, ("a",))


class Teacher(nn.Module):
    def forward(self, images: Tensor) -> ModelOutput:
        return predicted([10, 20, 30, 40], [0.01, 0.6, 0.96, 0.5])


@pytest.mark.parametrize(
    ("settings", "zeros", "ones"),
    [
        ({}, {1}, {2}),  # the third cell is wrong
        ({"bank_fill": "labelled", "bank_above": 0.7}, set(), {2}),
        ({"bank_fill": "confident", "bank_above": 0.95}, {5}, {2, 6}),  # the eighth has no trusted label
        ({"bank_fill": "teacher", "bank_above": 0.95}, {10}, {30}),
    ],
)
def test_what_enters(settings: dict[str, object], zeros: set[float], ones: set[float]) -> None:
    contrast = term(**settings)
    output, labelled = step()
    contrast(output, None, iteration=0, labelled=labelled, teacher=Teacher())
    bank = contrast.contrast.bank
    assert bank is not None
    held = [set(bank.vectors[k, : bank.counts[k], 0].tolist()) for k in range(2)]
    assert held == [zeros, ones]


@pytest.mark.parametrize(("fill", "held"), [("labelled", {2}), ("teacher", {30})])
def test_of_images_with_single_labelled_pixels_only_these_enter(fill: str, held: set[float]) -> None:
    """The fourth cell takes part with the student's own label, which nobody said is right."""
    labels = torch.tensor([[[IGNORE, 1, 1, IGNORE]]])
    on_labelled = predicted([1, 2, 3, 4], [0.4, 0.96, 0.3, 0.99])
    labelled = Batch(torch.zeros(1, 3, 1, 4), labels, ("a",), sparse=True)
    pixels = [(on_labelled, PseudoLabels.of_batch(labelled))]
    contrast = term(bank_fill=fill, own_label_above=0.9, bank_above=0.9)
    contrast(
        StepOutput(torch.tensor(0.0), pixels=pixels), None, iteration=0, labelled=labelled, teacher=Teacher()
    )
    bank = contrast.contrast.bank
    assert bank is not None
    assert bank.counts[0] == 0
    assert set(bank.vectors[1, : bank.counts[1], 0].tolist()) == held


def test_a_step_sees_the_bank_as_the_steps_before_left_it() -> None:
    filled, plain = term(), ContrastTerm(contrast=RegionalContrast(num_queries=2, num_keys=2))
    output, labelled = step()
    first, second = (
        one(output, torch.Generator().manual_seed(0), iteration=0, labelled=labelled)
        for one in (filled, plain)
    )
    assert torch.equal(first.loss, second.loss)
    assert filled.contrast.bank is not None
    assert filled.contrast.bank.fills == 1


@pytest.mark.parametrize("fill", ["labelled", "confident", "teacher"])
def test_a_method_with_a_bank_is_saved_and_goes_on_to_the_bit(
    tiny_network: Callable[..., nn.Module], toy_batch: Callable[..., Batch], fill: str
) -> None:
    def build() -> MeanTeacher:
        method = MeanTeacher(tiny_network(features=6), StrongView(), decay=0.5, trust_above=0.5)
        bank = FeatureBank(2, 6, size=8, per_step=3)
        labels = torch.tensor([[[0, 0, 0, 1, 1, 1]]])
        bank.fill(torch.eye(6)[None, :, None], labels, labels < 2, torch.Generator().manual_seed(0))
        contrast = RegionalContrast(num_queries=8, num_keys=16, bank=bank)
        method.contrast = ContrastTerm(contrast=contrast, trust_above=0.5, bank_fill=fill)  # type: ignore[arg-type]
        return method

    def go_on(method: MeanTeacher, iterations: range) -> list[float]:
        losses = []
        for iteration in iterations:
            generator = torch.Generator().manual_seed(iteration)
            batches = toy_batch(seed=iteration), toy_batch(seed=50 + iteration, visible=False)
            output = method(*batches, iteration=iteration, generator=generator, draws=generator)
            method.zero_grad()
            output.loss.backward()
            with torch.no_grad():
                for parameter in method.student.parameters():
                    parameter -= 0.2 * parameter.grad
            method.after_update(iteration)
            losses.append(output.loss.item())
        return losses

    whole, first, second = build(), build(), build()
    expected = go_on(whole, range(4))
    found = go_on(first, range(2))
    second.load_state_dict(first.state_dict())
    assert found + go_on(second, range(2, 4)) == expected
    assert whole.contrast is not None
    assert whole.contrast.contrast.bank is not None
    assert whole.contrast.contrast.bank.counts[1] == 8


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.classifier, self.head = nn.Conv2d(3, 2, 1), nn.Conv2d(3, 4, 1)

    def forward(self, images: Tensor) -> ModelOutput:
        return ModelOutput(self.classifier(images), self.head(images))


def step_in_process(process: int, folder: str) -> None:
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=process, world_size=2
    )
    torch.manual_seed(0)
    method = Supervised(Small())
    bank = FeatureBank(2, 4, size=8, per_step=3)
    method.contrast = ContrastTerm(contrast=RegionalContrast(num_queries=2, num_keys=2, bank=bank))
    bank.fills += 10 * process
    parallel, generator = in_parallel(method, torch.device("cpu")), torch.Generator().manual_seed(process)
    for iteration in range(2):
        images = torch.rand(1, 3, 4, 4, generator=generator)
        labels = torch.randint(2, (1, 4, 4), generator=generator)
        batch = Batch(images, labels, ("a",))
        output = parallel(batch, None, iteration=iteration, generator=generator, draws=generator)
        output.loss.backward()
    torch.save(bank.state_dict(), f"{folder}/{process}.pt")
    del parallel, output  # DistributedDataParallel that outlives its group may wait for it for ever
    torch.distributed.destroy_process_group()


def test_processes_fill_alike_and_none_sends_its_bank_around(tmp_path: Path) -> None:
    torch.multiprocessing.spawn(step_in_process, args=(str(tmp_path),), nprocs=2)
    first, second = (torch.load(tmp_path / f"{process}.pt") for process in range(2))
    for name in ("vectors", "counts", "pointers"):
        assert torch.equal(first[name], second[name])
    assert first["counts"].sum() > 0
    assert (first["fills"], second["fills"]) == (2, 12)  # DistributedDataParallel left them alone


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(UserError, match=r"bank_above: got 1\.5, needs a probability"):
        term(bank_above=1.5)
