"""The sheet that pictures are drawn on."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from recoseg.colours import distinct_colours
from recoseg.errors import UserError
from recoseg.figures.sheet import MOST_DOTS, annotate, class_handles, coloured, sheet, shortened
from recoseg.types import IGNORE, ClassInfo


def draw(path: Path) -> None:
    with sheet(path, width=2, height=1, dots=100) as figure:
        figure.subplots().set_title("$price_1$ & more")


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
    assert "$price_1$ & more" in texts(tmp_path / "a.svg")
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
    with sheet(tmp_path / "a.png", width=MOST_DOTS / 10, height=1) as figure:
        figure.subplots()
    with Image.open(tmp_path / "a.png") as picture:
        assert 0.9 * MOST_DOTS < picture.width <= 1.01 * MOST_DOTS


def test_long_names_lose_their_middle() -> None:
    assert shortened("traffic light", 13) == "traffic light"
    assert shortened("object number 17", 10) == "object…17"
    assert len(shortened("x" * 50, 20)) == 20


def classes(*names: str) -> ClassInfo:
    return ClassInfo(names, distinct_colours(len(names)))


def test_what_is_not_a_class_is_white() -> None:
    two = ClassInfo(("road", "sky"), ((0, 0, 0), (128, 0, 0)))
    drawn = coloured(np.array([[0, 1, 7, IGNORE]], dtype=np.uint8), two)
    assert drawn.tolist() == [[[0, 0, 0], [128, 0, 0], [255, 255, 255], [255, 255, 255]]]


def test_a_legend_names_the_classes_shown_and_the_undefined(tmp_path, texts) -> None:
    handles = class_handles(classes("road", "sky", "car"), [0, 2], undefined=True)
    with sheet(tmp_path / "a.svg", width=5, height=1) as figure:
        annotate(figure, title="A title", about="a note", handles=handles)
    assert texts(tmp_path / "a.svg") == ["A title", "a note", "road", "car", "undefined"]


@pytest.mark.parametrize(("longest", "most"), [("x", 30), ("x" * 100, 4)])
def test_a_legend_of_many_classes_is_no_wider_than_the_sheet(longest, most) -> None:
    figure = Figure(figsize=(9, 3), layout="compressed")
    names = [f"{longest}{number}" for number in range(most)]
    annotate(figure, handles=class_handles(classes(*names), range(most)))
    figure.draw_without_rendering()
    assert figure.legends[0].get_window_extent().x1 <= figure.bbox.x1


def test_a_long_title_is_broken() -> None:
    figure = Figure(figsize=(5, 3), layout="compressed")
    annotate(figure, title="many words about it " * 9)
    figure.draw_without_rendering()
    assert figure.get_suptitle().count("\n") > 1
