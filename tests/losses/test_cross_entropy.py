"""Pixel losses."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from recoseg.losses.cross_entropy import (
    confident_cross_entropy,
    pixel_cross_entropy,
    root_inverse_frequency,
    sureness,
)
from recoseg.types import IGNORE, PseudoLabels


def test_equal_logits_cost_the_log_of_the_number_of_classes() -> None:
    labels = torch.tensor([[[0, 1], [2, IGNORE]]])
    loss = pixel_cross_entropy(torch.zeros(1, 4, 2, 2), labels)
    assert loss.item() == pytest.approx(math.log(4))


def test_only_labelled_pixels_count() -> None:
    logits = torch.zeros(1, 2, 1, 2)
    logits[0, 0, 0, 0], logits[0, 0, 0, 1] = 1.0, 100.0
    loss = pixel_cross_entropy(logits, torch.tensor([[[0, IGNORE]]]))
    assert loss.item() == pytest.approx(-math.log(math.e / (math.e + 1)))


def test_nothing_labelled_costs_exactly_zero_and_stays_connected() -> None:
    logits = torch.randn(1, 3, 2, 2, requires_grad=True)
    loss = pixel_cross_entropy(logits, torch.full((1, 4, 4), IGNORE))
    loss.backward()
    assert loss.item() == 0
    assert logits.grad is not None
    assert torch.equal(logits.grad, torch.zeros_like(logits))


def test_logits_are_brought_to_the_size_of_the_labels() -> None:
    logits = torch.tensor([[[[4.0]], [[0.0]]]])
    small = pixel_cross_entropy(logits, torch.zeros(1, 1, 1, dtype=torch.int64))
    large = pixel_cross_entropy(logits, torch.zeros(1, 5, 7, dtype=torch.int64))
    assert large.item() == pytest.approx(small.item())


def test_logits_that_somebody_has_enlarged_already_cost_the_same_and_teach_the_same() -> None:
    torch.manual_seed(0)
    small = torch.randn(2, 3, 4, 4, dtype=torch.float64, requires_grad=True)
    labels = torch.randint(0, 3, (2, 16, 16))
    whole = torch.nn.functional.interpolate(small, (16, 16), mode="bilinear")
    costs = [pixel_cross_entropy(logits, labels) for logits in (small, whole)]
    gradients = [torch.autograd.grad(cost, small)[0] for cost in costs]
    torch.testing.assert_close(*costs)
    torch.testing.assert_close(*gradients)


def pseudo_of(labels: list[list[int]], confidence: list[list[float]]) -> PseudoLabels:
    """Each list is an image of one row."""
    return PseudoLabels(torch.tensor(labels)[:, None], torch.tensor(confidence)[:, None])


@pytest.mark.parametrize(
    ("confidence", "eta"),
    [([0.9, 0.96, 0.5, 0.1], 0), ([0.97, 0.98, 0.96, 0.1], 0.5), ([1.0, 0.97, 0.99, 0.98], 1)],
)
def test_eta_is_the_share_of_pixels_with_at_least_the_confidence(confidence, eta) -> None:
    pseudo = pseudo_of([[0, 1, 0, 1]], [confidence])
    assert sureness(pseudo, 0.97).tolist() == [eta]
    loss = confident_cross_entropy(torch.zeros(1, 4, 1, 4), pseudo, trust_above=0.97)
    assert loss.item() == pytest.approx(eta * math.log(4))


def test_pixels_without_a_label_have_no_share_in_eta() -> None:
    pseudo = pseudo_of([[0, 1, IGNORE, IGNORE]], [[1.0, 0.1, 1.0, 1.0]])
    assert sureness(pseudo, 0.97).tolist() == [0.5]
    assert sureness(pseudo, None).tolist() == pytest.approx([0.55])
    loss = confident_cross_entropy(torch.zeros(1, 4, 1, 4), pseudo, trust_above=0.97)
    assert loss.item() == pytest.approx(0.5 * math.log(4))


def test_without_a_threshold_eta_is_the_mean_confidence_of_an_image() -> None:
    pseudo = pseudo_of([[0, 1], [1, IGNORE]], [[0.5, 0.7], [0.9, 0.3]])
    loss = confident_cross_entropy(torch.zeros(2, 4, 1, 2), pseudo, trust_above=None)
    assert loss.item() == pytest.approx((2 * 0.6 + 0.9) / 3 * math.log(4))


def test_every_image_has_its_own_eta_and_every_pixel_the_same_weight_besides() -> None:
    pseudo = pseudo_of([[0, 0, 0, IGNORE], [1, IGNORE, IGNORE, IGNORE]], [[1.0, 0, 0, 0], [1.0, 0, 0, 0]])
    logits = torch.zeros(2, 2, 1, 4)
    logits[1, 0] = 1.0  # pixels of the first cost log 2, the one of the second log(1 + e)
    loss = confident_cross_entropy(logits, pseudo, trust_above=0.97)
    expected = (1 / 3 * 3 * math.log(2) + 1 * math.log(1 + math.e)) / 4
    assert loss.item() == pytest.approx(expected)


def test_pixels_below_the_confidence_are_learned_as_well() -> None:
    logits = torch.zeros(1, 2, 1, 2, requires_grad=True)
    confident_cross_entropy(logits, pseudo_of([[0, 0]], [[1.0, 0.3]]), trust_above=0.97).backward()
    assert logits.grad is not None
    # eta 1/2, mean over two pixels, and probability 1/2 of each class
    assert logits.grad[0, 0, 0].tolist() == pytest.approx([-0.125, -0.125])


def test_nothing_pseudo_labelled_costs_exactly_zero_and_stays_connected() -> None:
    logits = torch.randn(1, 3, 2, 2, requires_grad=True)
    pseudo = PseudoLabels(torch.full((1, 4, 4), IGNORE), torch.ones(1, 4, 4))
    loss = confident_cross_entropy(logits, pseudo, trust_above=0.97)
    loss.backward()
    assert loss.item() == 0
    assert logits.grad is not None
    assert torch.equal(logits.grad, torch.zeros_like(logits))


@given(st.integers(0, 2**31), st.integers(1, 3), st.floats(0, 1))
def test_weighted_by_eta_it_is_at_most_the_plain_mean(seed: int, count: int, trust_above: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(3, (count, 5, 4), generator=generator)
    labels[torch.rand(labels.shape, generator=generator) < 0.3] = IGNORE
    pseudo = PseudoLabels(labels, torch.rand(labels.shape, generator=generator))
    logits = torch.randn(count, 3, 3, 2, generator=generator)
    weighted = confident_cross_entropy(logits, pseudo, trust_above=trust_above)
    plain = pixel_cross_entropy(logits, labels)
    assert 0 <= weighted.item() <= plain.item() * (1 + 1e-5)
    certain = PseudoLabels.certain(labels)
    torch.testing.assert_close(confident_cross_entropy(logits, certain, trust_above=trust_above), plain)


def test_pixels_count_as_much_as_their_class() -> None:
    # of two pixels, the first is right with probability 1/2, the second with 1/4; the second counts thrice
    logits = torch.tensor([[0.5, 0.75], [0.5, 0.25]]).log().view(1, 2, 1, 2)
    loss = pixel_cross_entropy(logits, torch.tensor([[[0, 1]]]), torch.tensor([1.0, 3.0]))
    assert loss.item() == pytest.approx((math.log(2) + 3 * math.log(4)) / 4)


def test_equal_weights_change_nothing_whatever_their_size() -> None:
    logits, labels = torch.randn(2, 3, 4, 4), torch.randint(0, 3, (2, 4, 4))
    labels[0, 0] = IGNORE
    plain = pixel_cross_entropy(logits, labels)
    for size in (1.0, 7.0):
        torch.testing.assert_close(pixel_cross_entropy(logits, labels, torch.full((3,), size)), plain)


def test_without_any_label_a_weighted_loss_is_zero_and_connected() -> None:
    logits = torch.randn(1, 2, 4, 4, requires_grad=True)
    loss = pixel_cross_entropy(logits, torch.full((1, 4, 4), IGNORE), torch.tensor([1.0, 2.0]))
    loss.backward()
    assert loss.item() == 0
    assert logits.grad.abs().sum() == 0


def test_a_class_a_hundred_times_as_rare_counts_ten_times_as_much() -> None:
    counts = torch.tensor([10_000, 100, 0])
    weights = root_inverse_frequency(counts)
    assert (weights[1] / weights[0]).item() == pytest.approx(10)
    assert weights[2] == 0
    assert ((weights * counts).sum() / counts.sum()).item() == pytest.approx(1)


def test_without_any_pixel_no_class_counts() -> None:
    assert root_inverse_frequency(torch.zeros(3, dtype=torch.int64)).tolist() == [0, 0, 0]


def test_pixels_below_the_threshold_are_not_learned_from_but_count_in_the_mean() -> None:
    logits = torch.zeros(1, 2, 1, 4, requires_grad=True)
    pseudo = pseudo_of([[0, 1, 1, IGNORE]], [[0.99, 0.95, 0.9, 0.0]])
    loss = confident_cross_entropy(logits, pseudo, trust_above=0.9, pixel_above=0.95)
    assert loss.item() == pytest.approx(2 * math.log(2) / 3)  # two of three; all three are above 0.9
    loss.backward()
    assert logits.grad[0, 0, 0, 2:].tolist() == [0, 0]
    assert (logits.grad[0, 0, 0, :2] != 0).all()


def saying(*probabilities: float) -> torch.Tensor:
    """(1, 2, 1, P): logits that give class 0 these probabilities."""
    likely = torch.tensor(probabilities)
    return torch.stack([likely.log(), (1 - likely).log()])[None, :, None]


def test_only_pixels_that_are_hard_enough_count_with_ohem() -> None:
    """Of twelve pixels three have 0.5 or 0.7, at most 0.7; a fourth of 0.1 has no label."""
    logits = saying(0.5, 0.7, 0.5, 0.1, *[0.9] * 9).requires_grad_()
    labels = torch.zeros(1, 1, 13, dtype=torch.int64)
    labels[0, 0, 3] = IGNORE
    loss = pixel_cross_entropy(logits, labels, ohem_below=0.7 + 1e-6)
    assert loss.item() == pytest.approx((2 * math.log(2) - math.log(0.7)) / 3, rel=1e-5)
    loss.backward()
    assert logits.grad[0, 0, 0].nonzero().flatten().tolist() == [0, 1, 2]


def test_the_hardest_sixth_counts_with_ohem_however_easy_it_is() -> None:
    logits = saying(0.99, 0.8, *[0.95] * 9, 0.9, 0.2)
    labels = torch.zeros(1, 1, 13, dtype=torch.int64)
    labels[0, 0, 12] = IGNORE  # so that twelve are labelled, and two are a sixth
    loss = pixel_cross_entropy(logits, labels, ohem_below=0.7)
    assert loss.item() == pytest.approx(-(math.log(0.8) + math.log(0.9)) / 2, rel=1e-5)


def test_classes_keep_their_weights_with_ohem() -> None:
    logits = saying(0.5, 0.2, 0.99, 0.99)
    weights = torch.tensor([1.0, 3.0])
    loss = pixel_cross_entropy(logits, torch.tensor([[[0, 1, 0, 0]]]), weights, ohem_below=0.9)
    assert loss.item() == pytest.approx((math.log(2) - 3 * math.log(0.8)) / 4, rel=1e-5)


@given(st.integers(0, 1000), st.floats(0.05, 1))
def test_ohem_is_the_mean_over_a_sorted_list(seed: int, below: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(2, 3, 4, 5, generator=generator)
    labels = torch.randint(0, 4, (2, 4, 5), generator=generator)
    labels[labels == 3] = IGNORE
    own = [
        logits[b, :, y, x].softmax(0)[labels[b, y, x]].item()
        for b, y, x in (labels != IGNORE).nonzero().tolist()
    ]
    own.sort()
    kept = [p for place, p in enumerate(own) if place < math.ceil(len(own) / 6) or p <= below]
    expected = -sum(map(math.log, kept)) / len(kept)
    assert pixel_cross_entropy(logits, labels, ohem_below=below).item() == pytest.approx(expected, rel=1e-4)


def test_nothing_labelled_costs_zero_with_ohem_too() -> None:
    logits = torch.randn(1, 3, 2, 2, requires_grad=True)
    loss = pixel_cross_entropy(logits, torch.full((1, 2, 2), IGNORE), ohem_below=0.7)
    loss.backward()
    assert loss.item() == 0
    assert torch.equal(logits.grad, torch.zeros_like(logits))
