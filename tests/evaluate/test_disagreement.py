"""Where predictions differ, who is right, and where they differ most."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from recoseg.evaluate.disagreement import (
    BETTER,
    BOTH_WRONG,
    LEAST,
    NOBODY_RIGHT,
    WORSE,
    difference,
    difference_weights,
    spots,
)
from recoseg.types import IGNORE


def row(*labels: int) -> Tensor:
    return torch.tensor([labels], dtype=torch.uint8)


def test_a_difference_is_better_worse_or_wrong_in_both() -> None:
    truth, first, other = row(0, 0, 0, 0, IGNORE), row(0, 1, 0, 1, 0), row(0, 0, 1, 2, 1)
    assert difference(truth, first, other).tolist() == [[0, BETTER, WORSE, BOTH_WRONG, 0]]


@given(st.lists(st.tuples(*[st.sampled_from([0, 1, 2, IGNORE])] * 3), min_size=1, max_size=30))
def test_differences_agree_with_looking_at_one_pixel_after_another(pixels) -> None:
    truth, first, other = (row(*values) for values in zip(*pixels, strict=True))

    def plain(truth, first, other):
        if first == other or truth == IGNORE:
            return 0
        return WORSE if first == truth else BETTER if other == truth else BOTH_WRONG

    assert difference(truth, first, other).tolist() == [[plain(*pixel) for pixel in pixels]]


def test_a_pixel_counts_where_runs_differ_and_most_where_one_is_right() -> None:
    truth = row(0, 0, 0, IGNORE, 1)
    weights = difference_weights(truth, [row(0, 0, 1, 0, 0), row(0, 1, 2, 1, 0)])
    assert weights.tolist() == [[0, 1, NOBODY_RIGHT, 0, 0]]


def test_a_single_run_is_compared_with_the_truth() -> None:
    assert difference_weights(row(0, 1, IGNORE), [row(0, 0, 0)]).tolist() == [[0, 1, 0]]


def test_the_heaviest_places_come_first_and_do_not_overlap() -> None:
    weights = np.zeros((100, 200))
    weights[10:30, 150:190] = 1
    weights[60:70, 20:40] = 1
    first, second, *none = spots(weights, 5)
    assert not none
    assert (first.rows.start <= 10, first.rows.stop >= 30) == (True, True)
    assert (first.columns.start <= 150, first.columns.stop >= 190) == (True, True)
    assert (first.row, first.column) == pytest.approx((20, 170), abs=1)
    assert (second.row, second.column) == pytest.approx((65, 30), abs=1)
    assert spots(weights, 1) == [first]


def test_where_nothing_differs_there_is_no_place() -> None:
    assert spots(np.zeros((30, 30)), 3) == []
    assert spots(np.zeros((1, 1)), 1) == []
    assert len(spots(np.ones((1, 1)), 3)) == 1


@given(seed=st.integers(0, 10_000), height=st.integers(1, 24), width=st.integers(1, 24))
def test_places_are_those_that_a_plain_search_finds(seed, height, width) -> None:
    weights = (np.random.default_rng(seed).random((height, width)) > 0.7).astype(float)
    found = spots(weights, 3)
    covered = np.zeros((height, width), dtype=bool)
    high, wide = max(1, round(0.22 * height)), max(1, round(0.22 * width))
    for spot in found:
        assert (spot.rows.stop - spot.rows.start, spot.columns.stop - spot.columns.start) == (high, wide)
        best = max(
            weights[top : top + high, left : left + wide].mean()
            for top in range(height - high + 1)
            for left in range(width - wide + 1)
            if not covered[top : top + high, left : left + wide].any()
        )
        assert weights[spot.rows, spot.columns].mean() == pytest.approx(best)
        assert not covered[spot.rows, spot.columns].any()
        covered[spot.rows, spot.columns] = True
    if not found:
        assert weights.max() < 1 or weights.mean() < LEAST
