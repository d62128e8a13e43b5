"""Intervals from resampling images: closed forms, a plain reference, and how often they hold the truth."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from recoseg.evaluate.resampling import (
    NUM_DRAWS,
    Interval,
    draws,
    gain_of,
    iou_of,
    mean_iou_interval,
    resampled_iou,
)
from recoseg.evaluate.scores import Scores

T_ONE, T_THREE = 12.7062, 3.18245  # Student's t at 97.5 %, with one and three degrees of freedom


def images_of(*ious: float) -> torch.Tensor:
    """One class with a union of 1,000 pixels in every image: the IoU of several is the mean of theirs."""
    return torch.tensor([[[round(1000 * iou)], [1000], [round(1000 * iou)]] for iou in ious])


def test_two_images_have_the_interval_of_a_mean_of_two() -> None:
    # The standard error of a mean of 0.50 and 0.52 is 0.01.
    interval = mean_iou_interval(images_of(0.50, 0.52))
    assert interval == pytest.approx((0.51 - T_ONE * 0.01, 0.51 + T_ONE * 0.01), abs=0.06 * T_ONE * 0.01)


def test_four_images_have_the_interval_of_a_mean_of_four() -> None:
    ious = (0.40, 0.50, 0.54, 0.60)
    half = T_THREE * statistics.stdev(ious) / 2
    interval = mean_iou_interval(images_of(*ious))
    assert interval == pytest.approx((0.51 - half, 0.51 + half), abs=0.06 * half)


def test_a_difference_has_the_interval_of_the_differences_image_by_image() -> None:
    # Very different images, of which the other run has 1, 2, 3 and 2 points more: a mean of 2.
    first, gains = (0.10, 0.90, 0.30, 0.60), (0.01, 0.02, 0.03, 0.02)
    found = gain_of(images_of(*first), images_of(*(a + b for a, b in zip(first, gains, strict=True))))
    half = T_THREE * statistics.stdev(gains) / 2
    assert found is not None
    assert found.mean_iou == pytest.approx((0.02 - half, 0.02 + half), abs=0.06 * half)
    assert found.iou == [pytest.approx(found.mean_iou)]  # the only class
    assert not found.mean_iou.holds(0)
    both = [mean_iou_interval(images_of(*first))] * 2  # alone, each of them could be nearly anything
    assert all(one is not None and one.high - one.low > 0.5 for one in both)


def test_a_run_does_not_differ_from_itself() -> None:
    found = gain_of(images_of(0.2, 0.7, 0.4), images_of(0.2, 0.7, 0.4))
    assert found is not None
    assert found.mean_iou == Interval(0, 0)
    assert found.mean_iou.holds(0)


def test_one_image_tells_nothing() -> None:
    assert mean_iou_interval(images_of(0.5)) is None
    assert gain_of(images_of(0.5), images_of(0.6)) is None


def test_images_without_a_label_do_not_make_it_surer() -> None:
    empty = torch.zeros(6, 3, 1, dtype=torch.int64)
    assert mean_iou_interval(torch.cat([images_of(0.5), empty])) is None
    few = mean_iou_interval(images_of(0.5, 0.52))
    many = mean_iou_interval(torch.cat([images_of(0.5, 0.52), empty]))
    assert few is not None
    assert many is not None
    assert many.high - many.low > 0.8 * (few.high - few.low)


def test_a_class_that_a_single_image_shows_has_no_interval_of_its_own() -> None:
    counts = torch.zeros(3, 3, 3, dtype=torch.int64)  # the last class is in none
    counts[:, :, 0] = torch.tensor([[5, 8, 9], [6, 9, 9], [7, 9, 8]])
    counts[1, :, 1] = torch.tensor([3, 5, 4])
    found = gain_of(counts, counts)
    assert found is not None
    assert found.iou == [Interval(0, 0), None, None]


def test_scores_stay_between_0_and_1() -> None:
    assert mean_iou_interval(images_of(0.0, 1.0)) == Interval(0.0, 1.0)


def test_every_draw_has_as_many_images_as_there_are_and_draws_do_not_change() -> None:
    drawn = draws(7)
    assert drawn.shape == (NUM_DRAWS, 7)
    assert (drawn.sum(1) == 7).all()
    assert torch.equal(drawn, draws(7))
    assert drawn.mean(0).tolist() == pytest.approx([1.0] * 7, abs=0.12)


confusions = st.lists(
    st.lists(st.integers(0, 50), min_size=9, max_size=9).map(
        lambda cells: torch.tensor(cells).view(3, 3) * torch.tensor([[1, 0, 1], [1, 1, 0], [0, 0, 1]])
    ),
    min_size=2,
    max_size=5,
)


@given(confusions)
def test_draws_are_scored_as_a_plain_loop_over_them_does(matrices: list[torch.Tensor]) -> None:
    images = torch.stack([torch.stack([one.diagonal(), one.sum(1), one.sum(0)]) for one in matrices])
    drawn = draws(len(matrices))[:6]
    over_all = Scores(sum(matrices, torch.zeros(3, 3, dtype=torch.int64))).iou
    for row, times in zip(resampled_iou(images, drawn), drawn.int().tolist(), strict=True):
        chosen = [one for one, many in zip(matrices, times, strict=True) for _ in range(many)]
        iou = Scores(sum(chosen, torch.zeros(3, 3, dtype=torch.int64))).iou
        expected = [one if one == one else whole for one, whole in zip(iou, over_all, strict=True)]
        torch.testing.assert_close(row, torch.stack(expected), equal_nan=True)


def toy_images(generator: np.random.Generator, number: int, *skills: float) -> list[torch.Tensor]:
    """For each skill (N, 3, 2): the same images, whose pixels two classes share, some harder than others."""
    first = generator.integers(200, 800, number)
    true = np.stack([first, 1000 - first], 1)
    hard = generator.normal(0, 0.1, (number, 1))  # for whoever looks
    counts = []
    for skill in skills:
        found = np.clip(skill - hard + generator.normal(0, 0.05, (number, 2)), 0, 1)
        right = np.round(found * true).astype(int)
        called = right + (true - right)[:, ::-1]  # what one class misses is called the other
        counts.append(torch.from_numpy(np.stack([right, true, called], 1)))
    return counts


@pytest.mark.parametrize("number", [5, 12])
def test_intervals_hold_the_truth_as_often_as_they_say(number: int) -> None:
    truth = float(iou_of(toy_images(np.random.default_rng(0), 200_000, 0.7)[0].sum(0)).mean())
    generator = np.random.default_rng(1)
    trials = 400
    found = [mean_iou_interval(*toy_images(generator, number, 0.7)) for _ in range(trials)]
    share = sum(one is not None and one.holds(truth) for one in found) / trials
    assert 0.92 < share < 0.98  # 95 %, and three standard deviations of 400 trials


def test_equal_runs_are_seldom_told_apart_and_unlike_ones_often() -> None:
    generator = np.random.default_rng(2)

    def share_told_apart(gain: float) -> float:
        found = [gain_of(*toy_images(generator, 8, 0.7, 0.7 + gain)) for _ in range(200)]
        return sum(one is not None and not one.mean_iou.holds(0) for one in found) / len(found)

    assert share_told_apart(0.0) < 0.09
    assert share_told_apart(0.1) > 0.9  # as much as images differ, which is why they are compared in pairs


def test_counts_of_each_image_add_up_to_the_confusion() -> None:
    from recoseg.evaluate.loop import ScoreCounter, Seen

    generator = torch.Generator().manual_seed(0)
    predicted, labels = (torch.randint(0, 3, (5, 8, 8), generator=generator).byte() for _ in range(2))
    whole, parts = ScoreCounter(3), ScoreCounter(3, each_image=True)
    whole.add(Seen(predicted, labels))
    for part in (slice(0, 2), slice(2, 5)):
        one = parts.fresh()
        one.add(Seen(predicted[part], labels[part]))
        parts.take(one)
    scores = parts.scores()
    assert whole.scores().images is None
    assert torch.equal(scores.confusion, whole.scores().confusion)
    assert scores.images is not None
    assert scores.images.shape == (5, 3, 3)
    torch.testing.assert_close(iou_of(scores.images.sum(0)), scores.iou)
    alone = ScoreCounter(3)
    alone.add(Seen(predicted[3:4], labels[3:4]))
    torch.testing.assert_close(iou_of(scores.images[3]), alone.scores().iou)
    assert math.isclose(float(iou_of(scores.images.sum(0)).mean()), scores.mean_iou)
