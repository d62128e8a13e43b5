"""Resizing: means over areas, nearest labels, and a slow plain reference for both."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoseg.data.resize import Resize
from recoseg.errors import UserError


def slow_area(pixels, size):
    """Each pixel cut into `size` parts in each direction, then the mean over equal blocks of parts."""
    (height, width), (new_height, new_width) = pixels.shape[:2], size
    parts = pixels.repeat(new_height, axis=0).repeat(new_width, axis=1).astype(np.float64)
    return parts.reshape(new_height, height, new_width, width, 3).mean((1, 3))


def slow_nearest(labels, size):
    """The label whose pixel holds the centre of the new one."""
    (height, width), (new_height, new_width) = labels.shape, size
    return [
        [
            labels[int((row + 0.5) * height / new_height), int((column + 0.5) * width / new_width)]
            for column in range(new_width)
        ]
        for row in range(new_height)
    ]


def test_half_the_size_is_the_mean_of_four_pixels() -> None:
    pixels = np.array([[0, 10, 255, 255], [20, 30, 0, 1]], dtype=np.uint8)[..., None].repeat(3, axis=2)
    small = Resize(size=(1, 2)).image(pixels)
    assert small[..., 0].tolist() == [[15, 128]]  # 127.75 is rounded


def test_three_pixels_to_two_share_the_middle_one() -> None:
    pixels = np.array([[0, 90, 30]], dtype=np.uint8)[..., None].repeat(3, axis=2)
    assert Resize(size=(1, 2)).image(pixels)[..., 0].tolist() == [[30, 50]]  # (0 + 45) / 1.5, (45 + 30) / 1.5


def test_labels_are_taken_at_the_centre() -> None:
    labels = np.arange(6, dtype=np.uint8)[None]
    assert Resize(size=(1, 2)).labels(labels).tolist() == [[1, 4]]
    assert Resize(size=(1, 3)).labels(labels).tolist() == [[1, 3, 5]]
    assert Resize(size=(2, 6)).labels(labels).tolist() == [list(range(6))] * 2


sides = st.integers(1, 9)


@given(sides, sides, sides, sides)
def test_any_size_to_any_other_agrees_with_a_plain_reading(height, width, new_height, new_width) -> None:
    generator = np.random.default_rng(height * 9 + width)
    pixels = generator.integers(0, 256, (height, width, 3), dtype=np.uint8)
    labels = generator.integers(0, 20, (height, width), dtype=np.uint8)
    resize, size = Resize(size=(new_height, new_width)), (new_height, new_width)
    assert np.abs(resize.image(pixels) - slow_area(pixels, size)).max() <= 0.5001
    assert resize.labels(labels).tolist() == slow_nearest(labels, size)


def test_antialiasing_leaves_an_even_image_even_and_mixes_an_uneven_one() -> None:
    resize = Resize(scale=0.25, filter="antialias")
    even = np.full((16, 16, 3), 77, dtype=np.uint8)
    assert resize.image(even).tolist() == np.full((4, 4, 3), 77).tolist()
    stripes = np.zeros((16, 16, 3), dtype=np.uint8)
    stripes[:, ::2] = 200
    assert np.abs(resize.image(stripes).astype(int) - 100).max() <= 10  # without it: 0 or 200


def test_a_scale_keeps_the_shape_and_at_least_one_pixel() -> None:
    assert Resize(scale=0.5).target(1024, 2048) == (512, 1024)
    assert Resize(scale=0.01).target(20, 300) == (1, 3)
    assert Resize().target(333, 500) == (333, 500)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": (0, 5)}, "height and width must lie between 1 and 16384, not 0x5"),
        ({"size": (5, 99999)}, "not 5x99999"),
        ({"scale": 0.0}, "the scale must lie between 0.01 and 16, not 0"),
        ({"scale": 1e-9}, "the scale must lie between 0.01 and 16, not 1e-09"),
        ({"scale": float("nan")}, "the scale must lie between 0.01 and 16, not nan"),
        ({"scale": 0.5, "size": (4, 4)}, "not both"),
        ({"filter": "arae"}, "unknown filter 'arae'; did you mean 'area'"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message) -> None:
    with pytest.raises(UserError, match=message):
        Resize(**settings)
