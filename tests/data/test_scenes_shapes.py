"""The parts that street scenes are drawn with: random choices, perspective, and shapes with their labels."""

from __future__ import annotations

import numpy as np
import pytest

from recoseg.data.scenes.dice import Dice
from recoseg.data.scenes.shapes import Figure
from recoseg.data.scenes.stage import Camera, Canvas, Facing, Kind, Light, Stage
from recoseg.types import IGNORE


def test_dice_stay_within_their_bounds_and_reach_both_ends() -> None:
    dice = Dice(5)
    counts = [dice.count(-1, 2) for _ in range(200)]
    assert set(counts) == {-1, 0, 1, 2}
    numbers = [dice.between(2.0, 3.0) for _ in range(500)]
    assert 2.0 <= min(numbers) < 2.02
    assert 2.98 < max(numbers) < 3.0
    assert dice.bytes(3, 5).shape == (3, 5)


def test_splitting_dice_gives_another_stream() -> None:
    dice, again = Dice(9), Dice(9)
    part = dice.split()
    assert part.fraction() != dice.fraction()
    again.split()
    again.fraction()
    assert dice.fraction() == again.fraction()


def stage_of(height: int, width: int) -> Stage:
    """A stage where ten metres away one metre is one pixel, with the ground at the lower border."""
    camera = Camera(focal=10.0, centre=0.0, horizon=float(height - 2), eye=2.0)
    return Stage(Canvas(height, width), camera, Light.drawn(Dice(0)))


@pytest.mark.parametrize("outlined", [False, True])
def test_a_box_of_four_by_three_metres_covers_twelve_pixels(outlined: bool) -> None:
    stage = stage_of(8, 10)
    stage.canvas.labels[:] = Kind.SKY
    figure = Figure(stage)
    figure.box(Facing(stage.camera, 0.0, 10.0), 2.0, 0.0, 6.0, 3.0, (10, 20, 30))
    figure.label(Kind.CAR, outlined=outlined)
    expected = np.full((8, 10), Kind.SKY, dtype=np.uint8)
    expected[5:8, 2:6] = Kind.CAR
    assert np.array_equal(stage.canvas.labels, expected)
    painted = stage.canvas.image[0] != 0
    assert np.array_equal(painted, expected == Kind.CAR)


def test_the_same_rectangle_as_a_polygon_gives_the_same_labels_in_either_order() -> None:
    corners = [(2.2, 0.1), (6.3, 0.1), (6.3, 3.4), (2.2, 3.4)]
    found = []
    for order in (corners, corners[::-1]):
        stage = stage_of(8, 10)
        figure = Figure(stage)
        figure.polygon(Facing(stage.camera, 0.0, 10.0), order, (10, 20, 30))
        figure.label(Kind.CAR)
        found.append(stage.canvas.labels)
    assert int((found[0] == Kind.CAR).sum()) == 12
    assert np.array_equal(*found)


def test_an_outline_is_void_only_where_the_object_covers_less_than_half() -> None:
    stage = stage_of(20, 30)
    stage.canvas.labels[:] = Kind.SKY
    figure = Figure(stage)
    figure.ellipse(Facing(stage.camera, 15.0, 10.0), (0.0, 9.0), 6.0, 6.0, (200, 0, 0))
    figure.label(Kind.CAR, outlined=True)
    inside, void = stage.canvas.labels == Kind.CAR, stage.canvas.labels == IGNORE
    assert abs(int(inside.sum()) - 3.14159 * 36) < 5
    y, x = np.nonzero(void)
    distance = np.sqrt((x + 0.5 - 15.0) ** 2 + (y + 0.5 - 11.0) ** 2)
    assert distance.min() > 6.0
    assert distance.max() < 6.5


def test_what_is_twice_as_far_looks_half_as_large() -> None:
    camera = Camera(focal=100.0, centre=50.0, horizon=40.0, eye=1.5)
    near, far = camera.point(2.0, 0.0, 10.0), camera.point(2.0, 0.0, 20.0)
    assert near == pytest.approx((70.0, 55.0))
    assert far == pytest.approx((60.0, 47.5))
