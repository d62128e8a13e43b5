"""Values and colours of label files become class indices, or an error that names what has no class."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from recoseg.data.label_codes import (
    ByColour,
    ByKind,
    ByValue,
    colour_codes,
    colour_of,
    ranges,
)
from recoseg.errors import UserError

COLOUR = st.tuples(*[st.integers(0, 255)] * 3)
RED, BLUE = (255, 0, 0), (0, 0, 255)


@given(
    palette=st.lists(COLOUR, min_size=1, max_size=40, unique=True),
    draws=hnp.arrays(np.uint16, hnp.array_shapes(min_dims=2, max_dims=2, max_side=16)),
)
def test_colours_of_any_palette_lead_back_to_the_indices(palette, draws):
    indices = draws % len(palette)
    drawn = np.array(palette, dtype=np.uint8)[indices]
    code = ByColour({colour: index for index, colour in enumerate(palette)})
    assert np.array_equal(code.decode_pixels(drawn, Path("a.png")), indices)


@given(COLOUR)
def test_a_colour_and_its_number_are_the_same_thing(colour):
    assert colour_of(int(colour_codes(np.array(colour, dtype=np.uint8)))) == colour


@given(st.lists(st.integers(0, 300), unique=True, min_size=1))
def test_decoding_values_agrees_with_a_plain_look_up(values):
    classes = {value: index % 250 for index, value in enumerate(values)}
    decoded = ByValue(classes).decode_pixels(np.array([values], dtype=np.uint16), Path("a.png"))
    assert decoded.tolist() == [[classes[value] for value in values]]


def test_a_value_without_a_class_is_an_error_with_file_value_and_range(write):
    path = write("a.png", np.array([[0, 1, 19]], dtype=np.uint8))
    with pytest.raises(UserError, match=r"a\.png: value 19 is outside the class list \(0-1, 255\)"):
        ByValue({0: 0, 1: 1, 255: 255}).decode(path)


def test_many_values_without_a_class_are_shortened(write):
    path = write("a.png", np.arange(9, dtype=np.uint8)[None])
    with pytest.raises(UserError, match="values 2, 3, 4, 5 and 3 more are outside"):
        ByValue({0: 0, 1: 1}).decode(path)


def test_a_16_bit_value_is_not_wrapped_into_8_bits(write):
    path = write("a.png", np.array([[0, 256]], dtype=np.uint16))
    with pytest.raises(UserError, match="value 256 is outside"):
        ByValue({0: 0, 1: 1}).decode(path)


def test_a_colour_not_in_the_palette_is_an_error(write):
    path = write("a.png", np.array([[RED, BLUE, (1, 2, 3)]], dtype=np.uint8))
    with pytest.raises(UserError, match=r"a\.png: colour \(1, 2, 3\) is not in the palette"):
        ByColour({RED: 0, BLUE: 1}).decode(path)


def test_colours_are_found_in_palette_files_too(write):
    path = write("a.png", np.array([[1, 0]], dtype=np.uint8), "P")
    assert ByColour({(200, 10, 10): 5, (10, 200, 10): 6}).decode(path).tolist() == [[6, 5]]


def test_labels_in_a_jpeg_file_are_refused(tmp_path, write):
    pixels = np.zeros((16, 16, 3), dtype=np.uint8)
    pixels[4:9, 4:9] = RED
    with pytest.raises(UserError, match=r"JPEG file.*save labels as PNG"):
        ByColour({(0, 0, 0): 0, RED: 1}).decode(write("a.jpg", pixels))


def test_a_smoothed_label_is_recognised(write):
    with pytest.raises(UserError, match="without smoothing or rescaling"):
        ByValue({0: 0}).decode(write("a.png", np.arange(256, dtype=np.uint8)[None]))


def test_an_rgb_file_with_equal_channels_holds_values(write):
    path = write("a.png", np.array([[[1, 1, 1], [0, 0, 0]]], dtype=np.uint8))
    assert ByValue({0: 0, 1: 1}).decode(path).tolist() == [[1, 0]]


def test_a_colour_file_where_values_are_expected_is_an_error(write):
    path = write("a.png", np.array([[RED]], dtype=np.uint8))
    with pytest.raises(UserError, match='a colour image, where class values are expected; give a "palette"'):
        ByValue({0: 0}).decode(path)


def test_the_kind_of_the_file_can_decide(write):
    code = ByKind(values=ByValue({0: 0, 1: 1}), colours=ByColour({RED: 0, BLUE: 1}))
    assert code.decode(write("a.png", np.array([[0, 1]], dtype=np.uint8))).tolist() == [[0, 1]]
    assert code.decode(write("b.png", np.array([[BLUE, RED]], dtype=np.uint8))).tolist() == [[1, 0]]


def test_a_code_survives_pickling(write):
    path = write("a.png", np.array([[7]], dtype=np.uint8))
    assert pickle.loads(pickle.dumps(ByValue({7: 3}))).decode(path).tolist() == [[3]]


def test_numbers_are_told_as_ranges():
    assert ranges([0, 1, 2, 5, 255]) == "0-2, 5, 255"
