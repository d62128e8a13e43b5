"""Polygons, lines and ellipses as pixels, against the rule: the centre lies inside."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import ndimage

from recoseg.label_formats.annotation import Polygons, Ring, Strokes
from recoseg.label_formats.exporting import join_holes, outlines
from recoseg.label_formats.parsing import box_of, ellipse_of, rotate
from recoseg.label_formats.rasterize import Patch, fill, rasterize

COORDINATES = st.floats(-3, 12, allow_nan=False, width=32).map(lambda value: round(value, 2))
RINGS = st.lists(st.tuples(COORDINATES, COORDINATES), min_size=3, max_size=8)


def whole(patch: Patch, height: int, width: int) -> np.ndarray:
    canvas = np.zeros((height, width), dtype=bool)
    rows, columns = patch.mask.shape
    canvas[patch.top : patch.top + rows, patch.left : patch.left + columns] = patch.mask
    return canvas


def box(*corners: float) -> Ring:
    return box_of(*corners).rings[0]


def slow_fill(rings, height: int, width: int) -> np.ndarray:
    """A ray from the centre of each pixel to the left crosses an odd number of edges."""
    inside = np.zeros((height, width), dtype=bool)
    for row in range(height):
        for column in range(width):
            x, y = column + 0.5, row + 0.5
            for ring in rings:
                for (x0, y0), (x1, y1) in zip(ring, [*ring[1:], ring[0]], strict=True):
                    if (y0 <= y) != (y1 <= y) and x0 - (x1 - x0) / (y1 - y0) * (y0 - y) <= x:
                        inside[row, column] ^= True
    return inside


def test_a_rectangle_of_whole_numbers_is_these_pixels() -> None:
    patch = fill(box(2, 1, 5, 3), 6, 8)
    assert (patch.top, patch.left, patch.mask.shape, patch.mask.sum()) == (1, 2, (2, 3), 6)


@given(RINGS)
def test_filling_is_the_rule_of_the_centre(ring) -> None:
    fast = whole(fill(np.array(ring, dtype=float), 8, 9), 8, 9)
    different = np.argwhere(fast != slow_fill([ring], 8, 9))
    # Where an edge passes through a centre, rounding decides; nowhere else.
    for row, column in different:
        right = slow_fill([[(x + 1e-9, y) for x, y in ring]], 8, 9)
        left = slow_fill([[(x - 1e-9, y) for x, y in ring]], 8, 9)
        assert right[row, column] != left[row, column]


@given(RINGS, st.integers(0, 7))
def test_where_a_ring_begins_and_which_way_it_goes_does_not_matter(ring, start) -> None:
    points = np.round(np.array(ring) * 4) / 4 + 0.1  # no edge through a centre
    one = whole(fill(points, 8, 9), 8, 9)
    assert (one == whole(fill(np.roll(points, start, axis=0)[::-1], 8, 9), 8, 9)).mean() >= 71 / 72


def test_what_is_far_outside_needs_no_memory() -> None:
    assert fill(box(-1e9, -1e9, 1e9, 1e9), 3, 4).mask.sum() == 12
    assert fill(box(1e9, 1e9, 1e9, 1e9), 3, 4).mask.sum() == 0
    huge = box(-9e8, -9e8, 9e8, 9e8)
    assert rasterize(Polygons((huge, huge)), 3, 4, 1).mask.sum() == 12


def test_a_polygon_that_takes_all_memory_is_refused_before() -> None:
    zigzag = np.stack((np.arange(20_000) % 7, np.arange(20_000) % 2 * 1e4), axis=1).astype(float)
    with pytest.raises(ValueError, match="too many corners"):
        fill(zigzag, 10_000, 10)
    with pytest.raises(ValueError, match="more than 20000 points"):
        Strokes((np.zeros((20_001, 2)),))


def drawn(points, thickness: int, height: int, width: int) -> np.ndarray:
    return whole(rasterize(Strokes((np.array(points),)), height, width, thickness), height, width)


def test_a_point_is_a_square_and_a_line_a_band() -> None:
    assert drawn([[2.3, 1.8]], 3, 5, 6).nonzero()[0].tolist() == [0] * 3 + [1] * 3 + [2] * 3
    assert drawn([[2.3, 1.8]], 1, 5, 6).nonzero() == (np.array([1]), np.array([2]))
    line = drawn([[1.5, 2.5], [6.5, 2.5]], 1, 5, 8)
    assert line[2].tolist() == [False, *[True] * 6, False]
    assert line.sum() == 6


def test_an_ellipse_has_its_area_and_turns_clockwise() -> None:
    patch = fill(ellipse_of(50, 50, 40, 20).rings[0], 100, 100)
    assert patch.mask.sum() == pytest.approx(np.pi * 40 * 20, rel=0.01)
    upright = fill(ellipse_of(50, 50, 40, 20, degrees=90).rings[0], 100, 100)
    assert upright.mask.shape == patch.mask.shape[::-1]
    # a quarter clockwise, with y down: what pointed right points down
    assert rotate(Polygons((np.array([[3.0, 0.0]]),)), 90, (1, 0)).rings[0].round(9).tolist() == [[1.0, 2.0]]


def test_rings_of_one_object_are_merged() -> None:
    both = rasterize(Polygons((box(0, 0, 2, 1), box(4, 3, 5, 5))), 9, 9, 1)
    assert (both.top, both.left, both.mask.shape, both.mask.sum()) == (0, 0, (5, 5), 4)


@given(arrays.arrays(np.bool_, arrays.array_shapes(min_dims=2, max_dims=2, max_side=9)))
def test_outlines_fill_the_same_region_with_and_without_holes(mask) -> None:
    numbered, count = ndimage.label(mask)
    for number in range(1, count + 1):
        region = numbered == number
        rings = outlines(region)
        for shape in (rings, [join_holes(rings)]):
            filled = [whole(fill(ring.astype(float), *mask.shape), *mask.shape) for ring in shape]
            assert (np.logical_xor.reduce(filled) == region).all()


def test_the_corners_of_a_ring_of_pixels_with_a_hole() -> None:
    region = np.ones((3, 3), dtype=bool)
    region[1, 1] = False
    outer, hole = outlines(region)
    assert sorted(map(tuple, outer.tolist())) == [(0, 0), (0, 3), (3, 0), (3, 3)]
    assert sorted(map(tuple, hole.tolist())) == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert len(join_holes([outer, hole])) == 4 + 4 + 3  # the hole's first corner again, two cuts
