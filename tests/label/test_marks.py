"""Marks as pixels: every shape where it was drawn, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoseg.label.marks import ACCEPTED, BY_HAND, VOID, Painted, is_held_back, packed, unpacked
from recoseg.types import IGNORE

HEIGHT, WIDTH = 9, 12
POINT = st.lists(st.integers(-4, 15), min_size=2, max_size=2)


def mark(shape: str, at: list[list[int]], *, one: object = 3, radius: int = 0, name: str = "a") -> dict:
    return {"id": name, "type": "mark", "class": one, "shape": shape, "at": at, "radius": radius}


def drawn(*records: dict) -> np.ndarray:
    result = Painted.blank(HEIGHT, WIDTH)
    for record in records:
        result.paint(record)
    return result.ids


@given(at=st.lists(POINT, min_size=1, max_size=5), radius=st.integers(0, 3))
def test_points_are_discs_around_their_pixels(at, radius):
    ids = drawn(mark("points", at, radius=radius))
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    away = np.min([np.hypot(columns - x, rows - y) for x, y in at], axis=0)
    assert (ids[away <= max(0, radius - 0.5)] == 3).all()
    assert (ids[away > radius + 0.5] == IGNORE).all()


@given(one=POINT, other=POINT)
def test_a_box_is_filled_between_its_corners_both_included(one, other):
    ids = drawn(mark("box", [one, other]))
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    (left, right), (top, bottom) = sorted((one[0], other[0])), sorted((one[1], other[1]))
    inside = (columns >= left) & (columns <= right) & (rows >= top) & (rows <= bottom)
    np.testing.assert_array_equal(ids == 3, inside)


def test_a_polygon_is_filled_edges_included():
    ids = drawn(mark("polygon", [[1, 1], [7, 1], [7, 5], [1, 5]]))
    assert (ids[1:6, 1:8] == 3).all()
    assert (ids == 3).sum() == 35


def test_a_scribble_joins_its_points_and_is_as_wide_as_its_radius():
    thin, wide = (
        drawn(mark("scribble", [[1, 4], [10, 4]])),
        drawn(mark("scribble", [[2, 4], [9, 4]], radius=1)),
    )
    assert np.argwhere(thin == 3).tolist() == [[4, x] for x in range(1, 11)]
    assert (wide[3:6, 2:10] == 3).all()
    assert (wide[[0, 1, 2, 6, 7, 8]] == IGNORE).all()


@pytest.mark.parametrize("shape", ["points", "scribble", "polygon"])
def test_a_single_point_of_any_shape_is_a_pixel(shape):
    assert np.argwhere(drawn(mark(shape, [[5, 6]])) != IGNORE).tolist() == [[6, 5]]


def test_later_marks_cover_earlier_ones_and_erasing_leaves_nothing():
    ids = drawn(
        mark("box", [[0, 0], [5, 5]], one=1),
        mark("points", [[2, 2]], one="void"),
        mark("points", [[3, 3]], one=None),
    )
    assert (ids[2, 2], ids[3, 3], ids[4, 4]) == (VOID, IGNORE, 1)


def test_an_accepted_mask_fills_only_what_nobody_labelled():
    painted = Painted.blank(HEIGHT, WIDTH)
    painted.paint(mark("points", [[0, 0]], one=1))
    mask = np.full((HEIGHT, WIDTH), 2, np.uint8)
    mask[8] = IGNORE
    painted.paint({"type": "accept", "mask": packed(mask)})
    assert (painted.ids[0, 0], painted.ids[0, 1], painted.ids[8, 0]) == (1, 2, IGNORE)
    assert (painted.origins[0, 0], painted.origins[0, 1], painted.origins[8, 0]) == (BY_HAND, ACCEPTED, 0)


def test_classes_that_are_gone_leave_no_label():
    painted = Painted.blank(HEIGHT, WIDTH)
    painted.paint(mark("box", [[0, 0], [3, 3]], one=1))
    painted.paint(mark("points", [[5, 5]], one="void"))
    kept = painted.without([0, 2])
    assert np.argwhere(kept.ids != IGNORE).tolist() == [[5, 5]]
    assert (kept.origins != 0).sum() == 1


def test_about_one_mark_in_five_is_held_back():
    held = sum(is_held_back({"id": str(number)}) for number in range(2000))
    assert 340 < held < 460
    name = next(str(n) for n in range(100) if is_held_back({"id": str(n)}))
    painted = Painted.blank(HEIGHT, WIDTH)
    painted.paint(mark("points", [[1, 1]], name=name))
    assert np.argwhere(painted.held_back).tolist() == [[1, 1]]
    assert painted.origins[1, 1] == BY_HAND


def test_masks_come_back_from_their_text():
    mask = np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH)).astype(np.uint8)
    np.testing.assert_array_equal(unpacked(packed(mask)), mask)
