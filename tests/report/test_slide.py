"""The slide: its words, its bars and its pictures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from recoseg.errors import UserError
from recoseg.report import slide
from recoseg.report.slide import draw_slide, require_slide


@pytest.fixture
def words(monkeypatch) -> list[str]:
    """All that is written on slides, in order."""
    written: list[str] = []
    plain = Figure.text

    def text(self, x, y, s, *others, **settings):
        written.append(s)
        return plain(self, x, y, s, *others, **settings)

    monkeypatch.setattr(Figure, "text", text)
    return written


def test_one_run_is_told_by_its_numbers_classes_and_pictures(make_run, make_picture, words, tmp_path) -> None:
    draw_slide(tmp_path / "a.png", [make_run(pictures=[make_picture()])], title="A title")
    assert {"A title", "55.0%", "71.4%", "12", "1,234", "2,000", "mean_teacher with classmix"} <= set(words)
    assert words[words.index("road") + 1] == "60.0"
    assert words[words.index("sky") + 1] == "50.0"
    assert words[words.index("kangaroo") + 1] == "–"
    assert {"Image", "Truth", "Prediction", "50.0% right"} <= set(words)
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.width / picture.height == pytest.approx(16 / 9, abs=0.01)
        assert picture.width > 1920
        assert (np.asarray(picture.convert("RGB")) == [36, 88, 198]).all(2).any(), "bars"


def test_of_several_runs_each_is_compared_with_the_first(make_run, scores_line, words, tmp_path) -> None:
    better = make_run(name="better", metrics=[scores_line(9, [[100, 0, 0], [0, 40, 0], [0, 0, 0]])])
    draw_slide(tmp_path / "b.png", [make_run(), better], title="two")
    assert "2 runs · 3 classes · 4 validation images · deeplab_v3_plus, resnet101" in words
    assert {"55.0%", "100.0%", "+45.0 points"} <= set(words)
    assert words[words.index("road") + 1] == "100.0", "the best of them"


def test_more_runs_than_fit_are_counted(make_run, words, tmp_path) -> None:
    draw_slide(tmp_path / "c.png", [make_run(name=f"run {k}") for k in range(6)], title="six")
    assert "and 2 more" in words
    assert "run 4" not in words


def test_of_very_many_classes_the_best_and_the_worst_are_shown(
    make_run, many_classes, words, tmp_path
) -> None:
    scores = {"iteration": 1, "iou": [(k + 1) / 150 for k in range(150)], "mean_iou": 0.5}
    run = replace(make_run(classes=many_classes, metrics=[], losses=[]), metrics=[scores])
    draw_slide(tmp_path / "d.png", [run], title="many")
    shown = [word for word in words if word.startswith("class ")]
    assert shown == [f"class {k}" for k in (*range(10), *range(140, 150))]
    assert "130 more not shown" in words


def test_a_run_that_has_just_begun_has_a_slide_too(make_run, words, tmp_path) -> None:
    draw_slide(tmp_path / "e.png", [make_run(metrics=[], losses=[], survey=None)], title="begun")
    assert words.count("–") >= 4


def test_what_is_no_place_for_a_slide_is_said_first(tmp_path) -> None:
    for name, message in (
        ("a.jpg", "ends in .png"),
        ("no/a.png", "there is no folder"),
        ("d.png", "a folder"),
    ):
        (tmp_path / "d.png").mkdir(exist_ok=True)
        with pytest.raises(UserError, match=message):
            require_slide(tmp_path / name)


def test_rows_of_pictures_are_as_many_as_fit(make_run, make_picture, words, tmp_path) -> None:
    for shape, most in (((10, 40), slide._MOST_PICTURES), ((60, 40), 1)):
        pictures = [make_picture(f"p{k}", *shape) for k in range(9)]
        words.clear()
        draw_slide(tmp_path / "f.png", [make_run(pictures=pictures)], title="rows")
        assert words.count("50.0% right") == most
