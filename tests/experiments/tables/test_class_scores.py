"""Scores of single classes, side by side."""

from __future__ import annotations

import csv
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from recoseg.errors import UserError
from recoseg.experiments.plan.grids import GRIDS
from recoseg.experiments.tables.class_scores import class_scores, means
from recoseg.tables import comma_separated, latex, markdown, terminal

COLUMN = "camvid-20"
GRID = GRIDS[COLUMN]


@pytest.fixture
def results(result_of):
    """ClassMix has seeds 0 and 1, ReCo + ClassMix 0 to 2, Supervised none; seed 2 must not count."""

    def one(row, seed, road, pole, percent):
        return result_of(row, COLUMN, seed, percent, iou={"road_1": road, "pole": pole}, accuracy=road)

    return [
        one("classmix", 0, 0.9, None, 50),
        one("classmix", 1, 0.8, 0.1, 52),
        one("reco-classmix", 0, 0.7, 0.2, 53),
        one("reco-classmix", 1, 0.7, 0.3, 53),
        one("reco-classmix", 2, 0.0, 0.0, 0),
    ]


def test_means_are_over_the_seeds_that_all_methods_have(results) -> None:
    table = class_scores(GRID, COLUMN, results)
    assert (table.methods, table.seeds) == (("ClassMix", "ReCo + ClassMix"), (0, 1))
    lines = {name: means(values) for name, values in table.lines.items()}
    assert lines["road_1"] == pytest.approx((0.85, 0.7))
    assert lines["pole"] == pytest.approx((0.1, 0.25))  # where a class is absent, the other seeds count
    assert lines["Mean IoU"] == pytest.approx((0.51, 0.53))
    assert lines["Pixel accuracy"] == pytest.approx((0.85, 0.7))
    assert lines["Boundary IoU"] == [None, None]


def test_seeds_that_were_not_asked_for_do_not_count(results) -> None:
    table = class_scores(replace(GRID, seeds=(1,)), COLUMN, results)
    assert means(table.lines["road_1"]) == pytest.approx((0.8, 0.7))
    assert "scores in per cent, seed 1 alone, profile tiny" in table.table().title


def test_no_common_seed_is_a_clear_line(results) -> None:
    with pytest.raises(UserError, match="CamVid, 20 labelled images: no seed is done for all methods"):
        class_scores(GRID, COLUMN, [results[0], results[4]])


def test_every_format_has_all_figures_and_the_best_in_bold(results) -> None:
    table = class_scores(GRID, COLUMN, results)
    text = markdown([table.table()])
    assert "| road_1         |     85.0 |            70.0 |" in text  # +20 and +10: 15 ± 64
    assert "| Boundary IoU   |        – |               – |" in text
    assert "means over seeds 0 and 1, profile tiny" in text
    surely = class_scores(
        GRID,
        COLUMN,
        [
            replace(result, accuracy=0.5 + (result.row == "classmix") / 4 + result.seed / 100)
            for result in results
        ],
    )
    assert r"road\_1 & 85.0 & 70.0 \\" in latex([table.table()])
    assert r"Pixel accuracy & \textbf{75.5} & 50.5 \\" in latex([surely.table()])
    one_seed = class_scores(replace(GRID, seeds=(1,)), COLUMN, results)
    assert "| road_1         | **80.0** |            70.0 |" in markdown([one_seed.table()])
    rows = list(csv.DictReader(StringIO(comma_separated(table.records()))))
    assert len(rows) == 2 * 6
    pole = {"profile": "tiny", "column": COLUMN, "score": "pole", "method": "ReCo + ClassMix"}
    assert {**pole, "percent": "25.0", "seeds": "0 1"} in rows
    console = Console(width=80, record=True)
    console.print(terminal(table.table()))
    assert "road_1              85.0        70.0" in console.export_text()


def test_a_class_may_be_called_anything(results) -> None:
    odd = [replace(result, iou={"[red]|": 0.5}) for result in results]
    console = Console(width=80, record=True)
    console.print(terminal(class_scores(GRID, COLUMN, odd).table()))
    assert "[red]|" in console.export_text()
    assert r"| [red]\|" in markdown([class_scores(GRID, COLUMN, odd).table()])


def test_equal_figures_are_both_best_and_none_is_where_all_are_equal(results, result_of) -> None:
    same = [replace(result, iou={"road_1": 0.5}) for result in results]
    assert "|     50.0 |            50.0 |" in markdown([class_scores(GRID, COLUMN, same).table()])
    third = [result_of("supervised", COLUMN, seed, 1.0, iou={"road_1": 0.4}) for seed in (0, 1)]
    text = markdown([class_scores(GRID, COLUMN, [*same, *third]).table()])
    assert "|       40.0 |     50.0 |            50.0 |" in text  # neither is ahead of the other
    text = markdown([class_scores(replace(GRID, seeds=(0,)), COLUMN, [*same, *third]).table()])
    assert "|       40.0 | **50.0** |        **50.0** |" in text
