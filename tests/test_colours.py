"""Colours that are chosen for classes can be told apart, also by people who confuse red and green."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from recoseg.colours import colours_of, confidence_colours, distinct_colours, is_background

# Machado, Oliveira and Fernandes (2009): what is seen without the cones for red or for green, in linear RGB.
SIGHT = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}


def seen(colours, sight: str) -> np.ndarray:
    """(K, 3) in CIELAB, in which 2.3 is a difference that one just notices."""
    values = np.array(colours) / 255
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    linear = np.clip(linear @ SIGHT[sight].T, 0, 1)
    to_xyz = np.array([[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]])
    x, y, z = (linear @ to_xyz.T / to_xyz.sum(1)).T
    x, y, z = (np.where(v > 0.008856, np.cbrt(v), 7.787 * v + 16 / 116) for v in (x, y, z))
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)


def least_distance(colours, sight: str) -> float:
    places = seen(colours, sight)
    return min(float(np.linalg.norm(one - other)) for one, other in combinations(places, 2))


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize(("count", "least"), [(5, 30), (8, 20), (12, 15), (20, 12)])
def test_the_first_colours_are_far_apart(sight, count, least) -> None:
    assert least_distance(distinct_colours(count), sight) > least


def test_red_and_green_themselves_would_not_do() -> None:
    """The simulation does what it should: a tomato and a leaf look much alike without the cones for green."""
    pair = ((190, 70, 20), (110, 125, 20))
    assert least_distance(pair, "all cones") > 60
    assert least_distance(pair, "deuteranopia") < 15


def test_they_are_bright_and_not_grey() -> None:
    lightness, *chroma = seen(distinct_colours(20), "all cones").T
    assert lightness.min() > 40
    assert np.hypot(*chroma).min() > 40


def test_there_is_one_for_every_class_that_can_be() -> None:
    assert len(set(distinct_colours(255))) == 255
    assert distinct_colours(3) == distinct_colours(255)[:3]
    assert (0, 0, 0) not in distinct_colours(255)


def test_the_background_is_black_and_takes_no_colour() -> None:
    assert colours_of(["a", "background", "b"]) == (distinct_colours(1)[0], (0, 0, 0), distinct_colours(2)[1])
    assert [is_background(name) for name in ("Background", "_background_", "back", "no background")] == [
        True, True, False, False,
    ]  # fmt: skip


def test_confidence_becomes_brighter_all_the_way() -> None:
    for sight in SIGHT:
        assert (np.diff(seen(confidence_colours(), sight)[:, 0]) > -0.2).all()
