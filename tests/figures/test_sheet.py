"""The sheet that pictures are drawn on."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
import pytest
from PIL import Image

from recoseg.colours import distinct_colours
from recoseg.errors import UserError
from recoseg.figures.sheet import (
    BOX_HEIGHT,
    GAP,
    MOST_DOTS,
    ClassBoxes,
    coloured,
    sheet,
    shortened,
    text_colour,
)
from recoseg.types import IGNORE, ClassInfo


def draw(path: Path) -> None:
    with sheet(path, width=2, height=1, dots=100) as page:
        page.box(0.5, 0.25, 1, 0.5, facecolor=(1, 0, 0), edgecolor="none")
        page.text(0.1, 0.1, "$price_1$ & more")


def test_places_are_inches_from_the_top_left(tmp_path) -> None:
    with sheet(tmp_path / "a.png", width=2, height=1, dots=100) as page:
        page.box(0.5, 0.25, 1, 0.5, facecolor=(1, 0, 0), edgecolor="none")
        axes = page.picture(0, 0, 0.5, 0.2, np.zeros((1, 1, 3), dtype=np.uint8))
        axes.spines[:].set_visible(False)
    with Image.open(tmp_path / "a.png") as picture:
        pixels = np.array(picture.convert("RGB"))
    assert pixels.shape == (100, 200, 3)
    red = (pixels == (255, 0, 0)).all(2)
    assert np.argwhere(red).min(0).tolist() == [25, 50]
    assert np.argwhere(red).max(0).tolist() == [74, 149]
    assert (pixels[:20, :50] == 0).all()


@pytest.mark.parametrize("ending", ["png", "svg", "pdf", "PNG"])
def test_equal_pictures_are_equal_files_whatever_the_users_style(tmp_path, monkeypatch, ending) -> None:
    draw(tmp_path / f"a.{ending}")
    monkeypatch.setitem(matplotlib.rcParams, "font.size", 30)
    monkeypatch.setitem(matplotlib.rcParams, "font.family", ["monospace"])
    monkeypatch.setitem(matplotlib.rcParams, "svg.fonttype", "path")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    draw(tmp_path / f"b.{ending}")
    assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()
    assert matplotlib.rcParams["font.size"] == 30


def test_text_stays_text_and_is_never_a_formula(tmp_path, texts) -> None:
    draw(tmp_path / "a.svg")
    assert texts(tmp_path / "a.svg") == ["$price_1$ & more"]
    draw(tmp_path / "a.pdf")
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    assert b"CreationDate" not in (tmp_path / "a.pdf").read_bytes()


def test_another_ending_is_refused_before_anything_is_drawn(tmp_path) -> None:
    with (
        pytest.raises(UserError, match=r"a picture's name ends in \.png, \.svg, \.pdf"),
        sheet(tmp_path / "a.jpg", width=1, height=1),
    ):
        raise AssertionError("drawn")
    assert not list(tmp_path.iterdir())


def test_a_drawing_that_fails_leaves_no_file(tmp_path) -> None:
    with pytest.raises(ZeroDivisionError), sheet(tmp_path / "a.png", width=1, height=1):
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())


def test_a_huge_sheet_is_drawn_with_fewer_dots(tmp_path) -> None:
    with sheet(tmp_path / "a.png", width=MOST_DOTS / 10, height=1):
        pass
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.width == MOST_DOTS


def test_long_names_lose_their_middle() -> None:
    assert shortened("traffic light", 13) == "traffic light"
    assert shortened("object number 17", 10) == "object…17"
    assert len(shortened("x" * 50, 20)) == 20


def classes(*names: str) -> ClassInfo:
    return ClassInfo(names, distinct_colours(len(names)))


def test_names_can_be_read_on_any_colour() -> None:
    assert text_colour((0, 0, 0)) == "white"
    assert text_colour((255, 255, 255)) == "black"
    assert text_colour((220, 220, 0)) == "black"


def test_what_is_not_a_class_is_white() -> None:
    two = ClassInfo(("road", "sky"), ((0, 0, 0), (128, 0, 0)))
    drawn = coloured(np.array([[0, 1, 7, IGNORE]], dtype=np.uint8), two)
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
