"""Two processes see the class means of the joined batch, and wait for each other whatever they hold."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.distributed
import torch.multiprocessing
from torch import Tensor

from recoseg import RegionalContrast
from recoseg.losses.regional_contrast.prototypes import class_prototypes
from recoseg.types import IGNORE

NUM_CLASSES = 4
KEYS = ("per_query", "shared")
Found = list[dict[tuple[str, str], dict[str, Tensor]]]  # for each process: scene and keys -> values
# What the two processes hold: classes that only one has, a batch with nothing in it, one class alone.
SCENES = {
    "classes of one process only": ([[0, 1, 1, 0]], [[1, 2, 2, IGNORE]]),
    "nothing on the second": ([[0, 1, 3, 0]], [[IGNORE] * 4]),
    "one class each": ([[0, 0, 0, 0]], [[1, 1, 1, 1]]),
}


def half_batch(scene: str, rank: int) -> tuple[Tensor, Tensor, Tensor]:
    labels = torch.tensor([SCENES[scene][rank]])
    features = torch.randn(1, 6, 1, 4, generator=torch.Generator().manual_seed(rank))
    return features, labels, torch.full((1, NUM_CLASSES, 1, 4), 0.25)


def means_of(features: Tensor, labels: Tensor) -> Tensor:
    labels = labels.where(labels != IGNORE, NUM_CLASSES)
    counts = labels.flatten().bincount(minlength=NUM_CLASSES + 1)[:NUM_CLASSES]
    return class_prototypes(features, labels, counts).vectors


def one_process(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2
    )
    found = {}
    for scene in SCENES:
        features, labels, probabilities = half_batch(scene, rank)
        features.requires_grad_()
        for keys in KEYS:
            contrast = RegionalContrast(num_queries=5, num_keys=7, keys=keys)
            loss, stats = contrast(features, labels, probabilities, return_stats=True)
            (gradient,) = torch.autograd.grad(loss, features)
            found[scene, keys] = {
                "means": means_of(features.detach(), labels), "loss": loss.detach(), "gradient": gradient,
                "graph": stats.relation_graph, "active": stats.active_classes, "why": stats.inactive_because,
            }  # fmt: skip
    torch.save(found, f"{folder}/{rank}.pt")
    torch.distributed.destroy_process_group()


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    folder: Path = tmp_path_factory.mktemp("processes")
    torch.multiprocessing.spawn(one_process, args=(str(folder),), nprocs=2)
    return [torch.load(folder / f"{rank}.pt") for rank in range(2)]


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("scene", SCENES)
def test_both_processes_have_the_class_means_of_the_joined_batch(found: Found, scene: str, keys: str) -> None:
    halves = [half_batch(scene, rank) for rank in range(2)]
    features, labels, probabilities = (torch.cat(tensors) for tensors in zip(*halves, strict=True))
    expected = means_of(features, labels)
    _, stats = RegionalContrast()(features, labels, probabilities, return_stats=True)
    for rank in range(2):
        torch.testing.assert_close(found[rank][scene, keys]["means"], expected)
        torch.testing.assert_close(found[rank][scene, keys]["graph"], stats.relation_graph, equal_nan=True)


@pytest.mark.parametrize("keys", KEYS)
def test_a_process_asks_for_the_classes_that_it_has(found: Found, keys: str) -> None:
    scene = "classes of one process only"
    assert found[0][scene, keys]["active"].tolist() == [True, True, False, False]
    assert found[1][scene, keys]["active"].tolist() == [False, True, True, False]
    assert all(found[rank][scene, keys]["loss"] > 0 for rank in range(2))


@pytest.mark.parametrize("keys", KEYS)
def test_a_process_with_nothing_to_compare_contributes_a_connected_zero(found: Found, keys: str) -> None:
    for scene, rank in (("nothing on the second", 1), ("one class each", 0), ("one class each", 1)):
        assert found[rank][scene, keys]["loss"] == 0
        assert not found[rank][scene, keys]["gradient"].any()
        assert found[rank][scene, keys]["why"]
    assert found[0]["nothing on the second", keys]["loss"] > 0
