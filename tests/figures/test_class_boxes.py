"""The legend of class boxes."""

from __future__ import annotations

import numpy as np
import pytest

from recoseg.data.palette import distinct_colours
from recoseg.figures.class_boxes import BOX_HEIGHT, GAP, ClassBoxes, coloured, text_colour
from recoseg.figures.sheet import sheet
from recoseg.types import IGNORE, ClassInfo


def classes(*names: str) -> ClassInfo:
    return ClassInfo(names, distinct_colours(len(names)))


def test_names_can_be_read_on_any_colour() -> None:
    assert text_colour((0, 0, 0)) == "white"
    assert text_colour((255, 255, 255)) == "black"
    assert text_colour((220, 220, 0)) == "black"


def test_what_is_not_a_class_is_white() -> None:
    drawn = coloured(np.array([[0, 1, 7, IGNORE]], dtype=np.uint8), classes("road", "sky"))
    assert drawn.tolist() == [[[0, 0, 0], [128, 0, 0], [255, 255, 255], [255, 255, 255]]]


@pytest.mark.parametrize(("longest", "a_row"), [("x", 10), ("x" * 20, 6), ("x" * 100, 4)])
def test_long_names_take_fewer_boxes_a_row(longest, a_row) -> None:
    boxes = ClassBoxes.of(classes("a", "b", longest), [0, 1, 2] * 5, 10.0, undefined=True)
    assert boxes.a_row == a_row
    assert boxes.height == pytest.approx(-(-16 // a_row) * (BOX_HEIGHT + GAP))


def test_boxes_name_the_classes_shown_and_the_undefined(tmp_path, texts) -> None:
    boxes = ClassBoxes.of(classes("road", "sky", "car"), [0, 2], 5.0, undefined=True)
    with sheet(tmp_path / "a.svg", width=5, height=1) as page:
        boxes.draw(page, 0, 0)
    assert texts(tmp_path / "a.svg") == ["road", "car", "undefined"]
