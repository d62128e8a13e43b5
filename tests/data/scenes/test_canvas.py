"""The canvas of scenes: perspective, and polygons with their labels."""

from __future__ import annotations

import numpy as np
import pytest

from recoseg.data.scenes.canvas import Canvas, Point
from recoseg.data.scenes.classes import Kind
from recoseg.data.scenes.random_draws import RandomDraws


def canvas_of(height: int, width: int) -> Canvas:
    """A canvas where, ten metres away, one metre is one pixel and the ground is the lower border."""
    canvas = Canvas(height, width, RandomDraws(0))
    canvas.focal, canvas.centre, canvas.horizon, canvas.eye = 10.0, 0.0, float(height - 2), 2.0
    canvas.labels[:] = Kind.SKY
    return canvas


def upright(*corners: tuple[float, float]) -> list[Point]:
    return [(x, up, 10.0) for x, up in corners]


BOX = upright((2.0, 0.0), (6.0, 0.0), (6.0, 3.0), (2.0, 3.0))


@pytest.mark.parametrize("corners", [BOX, BOX[::-1]])
def test_a_box_of_four_by_three_metres_covers_twelve_pixels(corners: list[Point]) -> None:
    canvas = canvas_of(8, 10)
    canvas.polygon(corners, (10, 20, 30), Kind.CAR)
    expected = np.full((8, 10), Kind.SKY, dtype=np.uint8)
    expected[5:8, 2:6] = Kind.CAR
    assert np.array_equal(canvas.labels, expected)
    assert np.array_equal(canvas.image[0] != 0, expected == Kind.CAR)


def test_a_circle_of_many_corners_has_its_area() -> None:
    canvas, angles = canvas_of(20, 30), np.linspace(0.0, 2 * np.pi, 60, endpoint=False)
    corners = upright(*((15.0 + 6.0 * float(np.cos(a)), 9.0 + 6.0 * float(np.sin(a))) for a in angles))
    canvas.polygon(corners, (200, 0, 0), Kind.CAR)
    assert abs(int((canvas.labels == Kind.CAR).sum()) - np.pi * 36) < 5


def test_a_face_of_something_solid_is_painted_only_from_its_front() -> None:
    canvas = canvas_of(8, 10)
    canvas.polygon(BOX[::-1], (10, 20, 30), Kind.CAR, is_solid=True)
    assert set(canvas.labels.flat) == {Kind.SKY}
    canvas.polygon(BOX, (10, 20, 30), Kind.CAR, is_solid=True)
    assert int((canvas.labels == Kind.CAR).sum()) == 12


def test_a_face_away_from_the_sun_is_darker() -> None:
    canvas = canvas_of(8, 10)
    canvas.sun_side, canvas.shadow, canvas.fog = 1, 0.4, 0.0
    colour = np.full((3, 1, 1), 100.0, dtype=np.float32)
    left, front, right = (float(canvas.shine(colour, 5.0, towards)[0, 0, 0]) for towards in (-1, 0, 1))
    assert front == right
    assert left == pytest.approx(front * 0.6)


def test_what_is_twice_as_far_looks_half_as_large() -> None:
    canvas = canvas_of(8, 10)
    canvas.focal, canvas.centre, canvas.horizon, canvas.eye = 100.0, 50.0, 40.0, 1.5
    assert canvas.project((2.0, 0.0, 10.0)) == pytest.approx((70.0, 55.0))
    assert canvas.project((2.0, 0.0, 20.0)) == pytest.approx((60.0, 47.5))
