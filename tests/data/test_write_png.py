"""PNG files that we write are read back as they were."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from recoseg.data.image_files import write_png


def written(pixels: np.ndarray, **settings: object) -> Image.Image:
    file = io.BytesIO()
    write_png(file, pixels, **settings)
    image = Image.open(file)
    image.load()
    return image


@given(arrays(np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9))))
def test_eight_bit_greys_come_back(pixels) -> None:
    image = written(pixels)
    assert image.mode == "L"
    assert np.array_equal(np.asarray(image), pixels)


@given(arrays(np.uint16, st.tuples(st.integers(1, 9), st.integers(1, 9))))
def test_sixteen_bit_greys_come_back(pixels) -> None:
    image = written(pixels)
    assert image.mode == "I;16"
    assert np.array_equal(np.asarray(image), pixels)


def test_indices_and_their_colours_come_back() -> None:
    indices = np.array([[0, 1], [2, 1]], dtype=np.uint8)
    palette = [(1, 2, 3), (40, 50, 60), (255, 0, 128)]
    image = written(indices, palette=palette)
    assert image.mode == "P"
    assert np.array_equal(np.asarray(image), indices)
    assert np.array_equal(np.asarray(image.convert("RGB")), np.array(palette)[indices])


@pytest.mark.parametrize("count", [1, 2, 4, 16, 17, 255])
def test_void_comes_back_whatever_the_number_of_colours(count) -> None:
    pixels = np.array([[*range(count), 255]], dtype=np.uint8)
    assert np.array_equal(np.asarray(written(pixels, palette=[(k, 0, 0) for k in range(count)])), pixels)


def test_a_view_with_gaps_is_written_as_it_looks() -> None:
    pixels = np.arange(48, dtype=np.uint8).reshape(6, 8)[::2, ::3]
    assert np.array_equal(np.asarray(written(pixels)), pixels)
