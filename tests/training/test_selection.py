"""The images that choose the best weights."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoseg.errors import UserError
from recoseg.training.validation import best_so_far, hold_back


@given(count=st.integers(2, 60), share=st.floats(0.001, 0.9), seed=st.integers(0, 5))
def test_held_back_images_and_the_others_are_all_images_once(count, share, seed) -> None:
    keys = [f"image{number}" for number in range(count)]
    kept, held = hold_back(keys, share, seed)
    assert sorted([*kept, *held]) == sorted(keys)
    assert kept
    assert held
    assert abs(len(held) - share * count) <= 1
    assert hold_back(keys, share, seed) == (kept, held)


def test_another_seed_holds_back_other_images() -> None:
    keys = [f"image{number}" for number in range(40)]
    assert hold_back(keys, 0.2, 0)[1] != hold_back(keys, 0.2, 1)[1]


def test_one_image_cannot_be_shared() -> None:
    with pytest.raises(UserError, match="needs at least 2 labelled images"):
        hold_back(["only"], 0.2, 0)


def test_the_best_score_leaves_out_lines_without_one() -> None:
    assert best_so_far([]) == -math.inf
    assert best_so_far([{"iteration": 1}, {"selection": {"mean_iou": None}}]) == -math.inf
    lines = [{"selection": {"mean_iou": score}} for score in (0.2, None, 0.5, 0.3)]
    assert best_so_far(lines) == 0.5
    assert not math.nan > best_so_far(lines)  # how the trainer asks: a NaN is never the best
