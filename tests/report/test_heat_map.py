"""Heat maps: what is painted, what is told, which names stand beside it."""

import json
from base64 import b64decode
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from recoseg.report.heat_map import heat_key, heat_map, heat_uri


def painted(uri):
    return np.array(Image.open(BytesIO(b64decode(uri.split(",")[1]))).convert("RGBA"))


@pytest.fixture
def read_heat_map(read_html):
    def read(values, **settings):
        values = np.array(values, dtype=np.float64)
        names = [f"name {index}" for index in range(len(values))]
        wanted = {"label": "Test", "says": "{row} {column} {value}", "decimals": 1} | settings
        return read_html(heat_map(values, names, **wanted))

    return read


def test_strength_is_opacity_and_sign_is_colour_and_nothing_known_is_grey():
    pixels = painted(heat_uri(np.array([[0, 1], [-0.5, np.nan]])))
    assert pixels[..., 3].tolist() == [[0, 255], [128, 70]]
    assert tuple(pixels[0, 1, :3]) == (36, 88, 198)
    assert tuple(pixels[1, 0, :3]) == (214, 110, 10)
    assert tuple(pixels[1, 1, :3]) == (128, 128, 128)


def test_values_beyond_one_are_painted_in_full():
    assert painted(heat_uri(np.array([[1.5, -3.0]])))[..., 3].tolist() == [[255, 255]]


def test_a_picture_has_one_pixel_a_cell(read_heat_map):
    image = read_heat_map(np.eye(150)).one("img")
    assert painted(image.attributes["src"]).shape == (150, 150, 4)


def test_cells_carry_their_numbers_for_whoever_points_at_them(read_heat_map):
    cells = read_heat_map([[0.123, 1], [np.nan, 0]], unit=100).one("div", "cells")
    assert json.loads(cells.attributes["data-values"]) == [123, 1000, None, 0]
    assert json.loads(cells.attributes["data-names"]) == ["name 0", "name 1"]
    assert cells.attributes["data-decimals"] == "1"


def test_few_classes_have_a_number_in_each_cell_and_many_have_none(read_heat_map):
    numbers = read_heat_map([[0.123, 1], [np.nan, 0]], unit=100).one("div", "numbers")
    assert [span.text for span in numbers.all("span")] == ["12", "100", "–", "0"]
    assert read_heat_map(np.eye(11)).all("div", "numbers") == []


def test_numbers_can_be_read_on_their_cells(read_heat_map):
    numbers = read_heat_map([[0.2, 0.9], [-0.9, -0.2]]).one("div", "numbers")
    assert [span.attributes.get("class") for span in numbers.all("span")] == [
        None,
        "on-dark",
        "on-bright",
        None,
    ]


@pytest.mark.parametrize(("count", "named", "crowded"), [(2, 2, False), (42, 42, True), (150, 38, True)])
def test_names_thin_out_where_there_are_many(read_heat_map, count, named, crowded):
    root = read_heat_map(np.eye(count))
    for side in ("rows", "columns"):
        names = [span.text for span in root.one("div", side).all("span")]
        assert len(names) == count
        assert len(list(filter(None, names))) == named
    matrix = root.one("div", "matrix")
    assert ("crowded" in matrix.attributes["class"]) == crowded
    assert matrix.attributes["style"] == f"--count:{count};--named:{named}"


def test_the_key_has_its_marks_in_order(read_html):
    assert read_html(heat_key("0", "1")).one("span", "marks").text == "01"
