"""The feature bank: what it holds, and a contrast whose keys come from it."""

from __future__ import annotations

import copy
import math
from pathlib import Path

import pytest
import torch
import torch.distributed
import torch.multiprocessing
from torch import Tensor

from recoseg.errors import UserError
from recoseg.losses.regional_contrast import FeatureBank, RegionalContrast
from recoseg.types import IGNORE

CLASSES = (0, 1, 3)
"""Of the batches here; a bank may have class 2 and lack class 3."""


def row_of(*vectors: tuple[float, ...]) -> Tensor:
    """(1, D, 1, w): an image of one row."""
    return torch.tensor(vectors, dtype=torch.float).t()[None, :, None]


def labels_of(*labels: int) -> Tensor:
    return torch.tensor(labels)[None, None]


def push(bank: FeatureBank, label: int, *vectors: tuple[float, ...]) -> None:
    """One after the other."""
    for vector in vectors:
        bank.fill(row_of(vector), labels_of(label), torch.tensor([[[True]]]))


def held(bank: FeatureBank, label: int) -> set[tuple[float, ...]]:
    return {tuple(vector) for vector in bank.vectors[label, : bank.counts[label]].tolist()}


def test_a_ring_of_two_holds_the_last_two() -> None:
    bank = FeatureBank(2, 1, size=2, per_step=1)
    push(bank, 1, (1,), (2,), (3,))
    assert held(bank, 1) == {(2.0,), (3.0,)}
    assert bank.counts.tolist() == [0, 2]
    push(bank, 1, (4,))
    assert held(bank, 1) == {(3.0,), (4.0,)}


def test_only_what_is_admitted_and_finite_enters_and_a_gap_costs_no_slot() -> None:
    bank = FeatureBank(3, 1, size=4, per_step=4)
    features = row_of((1,), (math.inf,), (3,), (math.nan,), (5,), (6,))
    labels = labels_of(0, 0, 0, 1, 1, IGNORE)
    admitted = torch.tensor([[[True, True, False, True, True, False]]])
    bank.fill(features, labels, admitted)
    assert (held(bank, 0), held(bank, 1), held(bank, 2)) == ({(1.0,)}, {(5.0,)}, set())
    assert bank.pointers.tolist() == [1, 1, 0]


def test_at_most_so_many_enter_in_a_step_and_all_are_as_likely() -> None:
    features, labels = row_of(*[(float(n),) for n in range(1, 6)]), labels_of(0, 0, 0, 0, 0)
    generator, entered = torch.Generator().manual_seed(0), torch.zeros(6)
    for _ in range(600):
        bank = FeatureBank(1, 1, size=8, per_step=2)
        bank.fill(features, labels, labels == 0, generator)
        assert len(held(bank, 0)) == 2
        entered[bank.vectors[0, :2, 0].long()] += 1
    assert (entered[1:] / 600 - 0.4).abs().max() < 5 * math.sqrt(0.4 * 0.6 / 600)


@pytest.mark.parametrize("keys", ["per_query", "shared"])
def test_one_class_in_the_batch_meets_the_other_in_the_bank(keys: str) -> None:
    bank = FeatureBank(2, 2, size=4, per_step=1)
    push(bank, 0, (1, 0))
    push(bank, 1, (0, 3))
    contrast = RegionalContrast(num_queries=4, num_keys=8, keys=keys, bank=bank)  # type: ignore[arg-type]
    features = row_of((2, 0)).requires_grad_()
    loss, stats = contrast(features, labels_of(0), torch.full((1, 2, 1, 1), 0.5), return_stats=True)
    # positive similarity 1, eight negatives at 0, temperature 0.5
    assert loss.item() == pytest.approx(-math.log(math.exp(2) / (math.exp(2) + 8)), rel=1e-5)
    torch.testing.assert_close(stats.relation_graph, torch.eye(2))
    assert stats.inactive_because is None
    loss.backward()
    assert features.grad is not None
    assert not any(buffer.requires_grad for buffer in bank.buffers())


def test_means_come_from_the_batch_or_from_the_bank() -> None:
    """A query along x; its class's mean is x in the batch and y in the bank; the other class is at -x."""
    expected = {"batch": math.log(1 + math.exp(-4)), "bank": math.log(1 + math.exp(-2))}
    for prototypes, value in expected.items():
        bank = FeatureBank(2, 2, size=2, per_step=1, prototypes=prototypes)  # type: ignore[arg-type]
        push(bank, 0, (0, 1))
        push(bank, 1, (-1, 0))
        contrast = RegionalContrast(num_queries=2, num_keys=1, bank=bank)
        loss = contrast(row_of((1, 0)), labels_of(0), torch.full((1, 2, 1, 1), 0.5))
        assert loss.item() == pytest.approx(value, rel=1e-5)


def random_bank(**settings: object) -> FeatureBank:
    """Of the classes 0, 1 and 2, of which one has gone round."""
    bank = FeatureBank(4, 5, size=3, per_step=1, **settings)  # type: ignore[arg-type]
    generator = torch.Generator().manual_seed(9)
    for label, count in ((0, 4), (1, 1), (2, 2)):
        push(bank, label, *torch.randn(count, 5, generator=generator).add(0.3).tolist())
    return bank


@pytest.mark.parametrize("prototypes", ["batch", "bank"])
@pytest.mark.parametrize("keys", ["per_query", "shared"])
def test_losses_and_gradients_of_many_draws_have_the_mean_of_the_plain_one(
    random_images, standard_errors_apart, keys: str, prototypes: str
) -> None:
    bank = random_bank(prototypes=prototypes)
    stored = {k: bank.vectors[k, : bank.counts[k]].double() for k in range(3)}
    plain = {"bank": stored, "prototypes_of_bank": prototypes == "bank"}
    ours = {"keys": keys, "bank": bank}
    apart = standard_errors_apart(random_images(0, CLASSES), ours, plain, draws=(300, 40))
    assert apart < 5  # at most, of 121 numbers


def test_a_bank_that_holds_the_batch_gives_the_loss_of_the_batch(random_images) -> None:
    features, labels, probabilities = random_images(1, CLASSES)
    bank = FeatureBank(4, 5, size=24, per_step=24, prototypes="bank")
    bank.fill(features, labels, labels != IGNORE)
    losses = []
    for contrast in (RegionalContrast(bank=bank, num_queries=512), RegionalContrast(num_queries=512)):
        generator = torch.Generator().manual_seed(3)
        losses.append(contrast(features, labels, probabilities, generator=generator).item())
    assert losses[0] == pytest.approx(losses[1], rel=5e-3)  # of other draws


@pytest.mark.parametrize("negatives", ["uniform", "pixels"])
def test_other_ways_of_drawing_work_on_the_bank_as_on_the_batch(negatives: str) -> None:
    """Class 1 has three stored features at 0 degrees to the query, class 2 one at 180."""
    bank = FeatureBank(3, 2, size=3, per_step=1)
    push(bank, 1, (1, 0), (1, 0), (1, 0))
    push(bank, 2, (-1, 0))
    settings = {"num_queries": 4000, "num_keys": 1, "keys": "per_query", "negatives": negatives}
    contrast = RegionalContrast(**settings, bank=bank)  # type: ignore[arg-type]
    generator = torch.Generator().manual_seed(0)
    loss = contrast(row_of((1, 0)), labels_of(0), torch.full((1, 3, 1, 1), 0.3), generator=generator)
    share = {"uniform": 0.5, "pixels": 0.75}[negatives]
    near, far = math.log(2), math.log(1 + math.exp(-4))
    error = (near - far) * math.sqrt(share * (1 - share) / 4000)
    assert abs(loss.item() - share * near - (1 - share) * far) < 5 * error


@pytest.mark.parametrize("kind", ["empty", "one class", "warming up"])
def test_until_it_can_serve_the_contrast_is_to_the_bit_that_of_the_batch(random_images, kind: str) -> None:
    bank = random_bank(warm_up=8) if kind == "warming up" else FeatureBank(4, 5, size=2, per_step=1)
    if kind == "one class":
        push(bank, 2, (1, 2, 3, 4, 5))
    losses = [
        contrast(*random_images(2, CLASSES), generator=torch.Generator().manual_seed(3))
        for contrast in (RegionalContrast(bank=bank), RegionalContrast())
    ]
    assert torch.equal(losses[0], losses[1])
    if kind == "warming up":
        push(bank, 0, (1, 2, 3, 4, 5))  # the eighth
        generator = torch.Generator().manual_seed(3)
        assert RegionalContrast(bank=bank)(*random_images(2, CLASSES), generator=generator) != losses[1]


def test_what_was_saved_goes_on_as_if_nothing_had_happened(random_images) -> None:
    bank = random_bank()
    contrast, other = (
        RegionalContrast(bank=bank),
        RegionalContrast(bank=FeatureBank(4, 5, size=3, per_step=1)),
    )
    other.load_state_dict(copy.deepcopy(contrast.state_dict()))
    for one in (contrast, other):
        assert one.bank is not None
        push(one.bank, 0, (1, 1, 1, 1, 1))
    losses = [
        one(*random_images(0, CLASSES), generator=torch.Generator().manual_seed(1))
        for one in (contrast, other)
    ]
    assert torch.equal(losses[0], losses[1])
    assert all(torch.equal(a, b) for a, b in zip(contrast.buffers(), other.buffers(), strict=True))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"size": 0}, "size: got 0, needs a whole number of at least 1"),
        ({"size": 4, "per_step": 5}, "per_step: got 5, needs at most the size of the bank, 4"),
        ({"warm_up": -1}, "warm_up: got -1, needs a whole number of at least 0"),
        ({"prototypes": "x"}, "prototypes="),
    ],
)
def test_what_no_bank_can_have_is_refused(settings: dict[str, object], says: str) -> None:
    with pytest.raises(UserError, match=says):
        FeatureBank(2, 3, **settings)  # type: ignore[arg-type]


def test_a_bank_for_other_features_is_refused(random_images) -> None:
    contrast = RegionalContrast(bank=FeatureBank(3, 5))
    with pytest.raises(UserError, match="bank: got one of 3 classes and 5 channels, needs one of 4 classes"):
        contrast(*random_images(0, CLASSES))


# Two processes.

HELD = [[0, 0, 1, IGNORE], [0, 2, 2, 2]]


def half_batch(rank: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(rank)
    return torch.randn(1, 3, 1, 4, generator=generator), torch.tensor([[HELD[rank]]])


def fill_in_process(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2
    )
    features, labels = half_batch(rank)
    banks = {size: FeatureBank(3, 3, size=4, per_step=size) for size in (2, 4)}
    for bank in banks.values():
        bank.fill(features, labels, labels != IGNORE, torch.Generator().manual_seed(10 + rank))
    torch.save({size: bank.state_dict() for size, bank in banks.items()}, f"{folder}/{rank}.pt")
    torch.distributed.destroy_process_group()


def test_two_processes_store_the_same_and_what_one_with_all_images_stores(tmp_path: Path) -> None:
    torch.multiprocessing.spawn(fill_in_process, args=(str(tmp_path),), nprocs=2)
    first, second = (torch.load(tmp_path / f"{rank}.pt") for rank in range(2))
    for size in (2, 4):
        assert all(torch.equal(first[size][name], second[size][name]) for name in first[size])
    features, labels = (torch.cat(tensors) for tensors in zip(*map(half_batch, range(2)), strict=True))
    whole, joined = FeatureBank(3, 3, size=4, per_step=4), FeatureBank(3, 3, size=4, per_step=4)
    whole.fill(features, labels, labels != IGNORE)
    joined.load_state_dict(first[4])
    assert [held(whole, k) for k in range(3)] == [held(joined, k) for k in range(3)]
    # with two of each class and step, both processes have their turn where both have the class
    assert first[2]["counts"].tolist() == [2, 1, 2]
    of_zero = {tuple(vector) for vector in first[2]["vectors"][0, :2].tolist()}
    assert tuple(half_batch(1)[0][0, :, 0, 0].tolist()) in of_zero
