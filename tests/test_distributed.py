"""Two processes: sums and means over both, and pixel losses with the gradient of the joined batch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed
import torch.multiprocessing
from torch import Tensor

from recoseg.distributed import is_running, mean_over_processes, rank, sum_over_processes, world_size
from recoseg.losses.cross_entropy import confident_cross_entropy, pixel_cross_entropy
from recoseg.training.log import mean_stats
from recoseg.types import IGNORE, PseudoLabels, StepOutput

# How many of its 12 pixels each process has labels of.
SCENES = {"unequal": (9, 2), "nothing on the second": (5, 0), "one pixel in all": (0, 1), "nothing": (0, 0)}
LOSSES: dict[str, Callable[[Tensor, PseudoLabels], Tensor]] = {
    "pixel": lambda logits, pseudo: pixel_cross_entropy(logits, pseudo.labels),
    "confident": lambda logits, pseudo: confident_cross_entropy(logits, pseudo, trust_above=0.5),
}

# A stat that both have, one that the first has alone, and one that nobody has.
NONE = torch.tensor(float("nan"))
STATS = [
    {"both": torch.tensor(1.0), "first": torch.tensor(0.25), "nobody": NONE},
    {"both": torch.tensor(2.0), "first": NONE, "nobody": NONE},
]


def half_batch(scene: str, process: int) -> tuple[Tensor, PseudoLabels]:
    """One image of 3x4 pixels, in three classes."""
    generator = torch.Generator().manual_seed(process)
    logits = torch.randn(1, 3, 3, 4, generator=generator)
    labels = torch.randint(3, (12,), generator=generator)
    labels[SCENES[scene][process] :] = IGNORE
    confidence = torch.rand(12, generator=generator)
    confidence[0] = 1.0
    return logits, PseudoLabels(labels.view(1, 3, 4), confidence.view(1, 3, 4))


def loss_and_gradient(loss: str, logits: Tensor, pseudo: PseudoLabels) -> tuple[Tensor, Tensor]:
    """The gradient is that of a weight which all logits share: (3, 1, 1)."""
    weight = torch.ones(3, 1, 1, requires_grad=True)
    value = LOSSES[loss](logits * weight, pseudo)
    (gradient,) = torch.autograd.grad(value, weight)
    return value.detach(), gradient


def one_process(process: int, folder: str) -> None:
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=process, world_size=2
    )
    mine = torch.tensor([1, 10]) * (process + 1)
    found: dict[Any, Any] = {
        "who": (rank(), world_size(), is_running()),
        "sum": sum_over_processes(mine),
        "mean": mean_over_processes(mine),
        "kept": mine,
        "stats": mean_stats(StepOutput(torch.zeros(()), stats=STATS[process])),
        "constant": sum_over_processes(torch.ones(1, requires_grad=True)).requires_grad,
    }
    for scene in SCENES:
        for loss in LOSSES:
            found[scene, loss] = loss_and_gradient(loss, *half_batch(scene, process))
    torch.save(found, f"{folder}/{process}.pt")
    torch.distributed.destroy_process_group()


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[dict[Any, Any]]:
    folder: Path = tmp_path_factory.mktemp("processes")
    torch.multiprocessing.spawn(one_process, args=(str(folder),), nprocs=2)
    return [torch.load(folder / f"{process}.pt") for process in range(2)]


def test_a_single_process_is_alone_and_its_values_are_the_total() -> None:
    assert (rank(), world_size(), is_running()) == (0, 1, False)
    assert sum_over_processes(torch.tensor([3, 4])).tolist() == [3, 4]
    assert mean_over_processes(torch.tensor([3, 4])).tolist() == [3, 4]


def test_each_process_knows_who_it_is(found: list[dict[Any, Any]]) -> None:
    assert [process["who"] for process in found] == [(0, 2, True), (1, 2, True)]


def test_sums_and_means_are_those_of_both_and_change_nobodys_own_values(found: list[dict[Any, Any]]) -> None:
    for number, process in enumerate(found):
        assert process["sum"].tolist() == [3, 30]
        assert process["mean"].tolist() == [1.5, 15]
        assert process["kept"].tolist() == [number + 1, 10 * (number + 1)]
        assert not process["constant"]


def test_stats_are_means_over_the_processes_that_have_them(found: list[dict[Any, Any]]) -> None:
    for process in found:
        assert process["stats"] == pytest.approx(
            {"both": 1.5, "first": 0.25, "nobody": NONE.item()}, nan_ok=True
        )


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scene", SCENES)
def test_the_mean_over_processes_is_the_loss_and_gradient_of_the_joined_batch(
    found: list[dict[Any, Any]], scene: str, loss: str
) -> None:
    halves = [half_batch(scene, process) for process in range(2)]
    logits = torch.cat([logits for logits, _ in halves])
    pseudo = PseudoLabels(
        torch.cat([pseudo.labels for _, pseudo in halves]),
        torch.cat([pseudo.confidence for _, pseudo in halves]),
    )
    value, gradient = loss_and_gradient(loss, logits, pseudo)
    assert (value > 0) == (scene != "nothing")
    for place, joined in enumerate((value, gradient)):
        mean = (found[0][scene, loss][place] + found[1][scene, loss][place]) / 2
        torch.testing.assert_close(mean, joined)
