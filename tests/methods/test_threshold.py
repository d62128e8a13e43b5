"""DAW's threshold: closed forms of the crossing, and what it learns from labelled pixels."""

from __future__ import annotations

import math

import pytest
import torch

from recoseg.errors import UserError
from recoseg.methods.parts.threshold import FittedThreshold, Threshold, crossing
from recoseg.types import IGNORE


def density(x: float, mean: float, deviation: float) -> float:
    return math.exp(-0.5 * ((x - mean) / deviation) ** 2) / deviation


def cross(right: tuple[float, float], wrong: tuple[float, float], otherwise: float = 0.95) -> float:
    means, deviations = (torch.tensor(pair) for pair in zip(right, wrong, strict=True))
    return crossing(means, deviations.square(), otherwise=torch.tensor(otherwise)).item()


@pytest.mark.parametrize(
    ("right", "wrong", "expected"),
    [
        ((0.9, 0.1), (0.5, 0.2), 0.7340),
        ((0.9, 0.2), (0.5, 0.2), 0.7),  # of equal width: in the middle
        ((0.5, 0.2), (0.9, 0.2), 0.7),  # also where wrong ones are the more confident
        ((0.9, 0.2), (0.5, 0.20001), 0.7),  # of nearly equal width: no loss of precision
    ],
)
def test_two_gaussians_cross_where_a_person_finds_it(right, wrong, expected) -> None:
    assert cross(right, wrong) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("right", [(0.9, 0.05), (0.8, 0.3), (0.95, 0.15)])
@pytest.mark.parametrize("wrong", [(0.4, 0.1), (0.6, 0.25)])
def test_both_densities_are_equal_where_they_cross_and_that_lies_between_the_means(right, wrong) -> None:
    place = cross(right, wrong)
    assert wrong[0] < place < right[0]
    assert density(place, *right) == pytest.approx(density(place, *wrong), rel=1e-3)


def test_gaussians_that_are_one_leave_the_threshold_alone() -> None:
    assert cross((0.5, 0.3), (0.5, 0.3), otherwise=0.8) == pytest.approx(0.8)


def logits_of(confidences: list[float], predicted: list[int]) -> torch.Tensor:
    """(1, 2, 1, N): each pixel says its class with its confidence."""
    logits = torch.zeros(1, 2, 1, len(predicted))
    for pixel, (confidence, label) in enumerate(zip(confidences, predicted, strict=True)):
        logits[0, label, 0, pixel] = math.log(confidence / (1 - confidence))
    return logits


def test_means_and_variances_move_by_a_hundredth_towards_those_of_the_batch() -> None:
    threshold = FittedThreshold(0.95, 2)
    confidences = [0.9, 0.7] * 5 + [0.6, 0.8] * 5 + [0.99]
    labels = torch.tensor([[[0] * 10 + [1] * 10 + [IGNORE]]])  # ten right, ten wrong, one that nobody knows
    threshold.fit(logits_of(confidences, [0] * 21), labels)
    torch.testing.assert_close(
        threshold.means, torch.tensor([0.99 * 0.5 + 0.01 * 0.8, 0.99 * 0.5 + 0.01 * 0.7])
    )
    torch.testing.assert_close(threshold.variances, torch.tensor([0.99 * 0.5 + 0.01 * 0.01] * 2))
    assert threshold.value.item() == pytest.approx(0.5025, abs=1e-4)  # of equal width: in the middle
    assert threshold.stats()["threshold"].item() == threshold.value.item()


def test_fewer_than_ten_pixels_of_a_kind_leave_its_gaussian_alone() -> None:
    threshold = FittedThreshold(0.95, 2)
    labels = torch.tensor([[[0] * 10 + [1] * 9]])
    threshold.fit(logits_of([0.9] * 19, [0] * 19), labels)
    torch.testing.assert_close(threshold.means, torch.tensor([0.504, 0.5]))
    assert threshold.variances[1] == 0.5
    threshold.fit(logits_of([0.9] * 19, [0] * 19), torch.full((1, 1, 19), IGNORE))
    torch.testing.assert_close(threshold.means, torch.tensor([0.504, 0.5]))
    assert threshold.value.isfinite()


def test_after_many_steps_the_threshold_is_where_the_batches_cross_and_never_below_chance() -> None:
    threshold = FittedThreshold(0.95, 2)
    confidences = [0.95, 0.85] * 10 + [0.6, 0.7] * 10
    logits, labels = logits_of(confidences, [0] * 40), torch.tensor([[[0] * 20 + [1] * 20]])
    for _ in range(1500):
        threshold.fit(logits, labels)
        assert 0.5 <= threshold.value <= 1
    assert threshold.value.item() == pytest.approx(0.775, abs=2e-3)  # both deviate by 0.05


def test_a_saved_threshold_goes_on_exactly() -> None:
    first, second = FittedThreshold(0.95, 2), FittedThreshold(0.5, 2)
    logits, labels = torch.randn(2, 2, 8, 8), torch.randint(2, (2, 8, 8))
    first.fit(logits, labels)
    second.load_state_dict(first.state_dict())
    for threshold in (first, second):
        threshold.fit(logits.flip(0), labels)
    assert torch.equal(first.value, second.value)
    assert torch.equal(first.means, second.means)


def test_a_fixed_threshold_learns_nothing() -> None:
    threshold = Threshold(0.95, 2)
    threshold.fit(torch.randn(1, 2, 4, 4), torch.zeros(1, 4, 4).long())
    assert threshold.value.item() == pytest.approx(0.95)
    assert threshold.stats() == {}


@pytest.mark.parametrize("kind", [Threshold, FittedThreshold])
@pytest.mark.parametrize("start", [-0.1, 1.5])
def test_a_threshold_outside_0_to_1_is_refused(kind, start) -> None:
    with pytest.raises(UserError, match="pixel_above is a probability, got"):
        kind(start, 2)
