"""The table of a grid as charts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from recoseg.errors import UserError
from recoseg.experiments.plan.grids import GRIDS
from recoseg.experiments.tables.charts import draw_learning, draw_table, panel_of, seeds_of
from recoseg.experiments.tables.grid_table import grid_table
from recoseg.figures.grid_chart import ChartRow

CITY = "cityscapes-20"


@pytest.fixture
def results(result_of) -> list:
    curve = [[100, 0.1], [200, 0.3]]
    return [
        result_of(row, CITY, seed, percent + seed, curve=curve)
        for row, percent in (("supervised", 20.0), ("classmix", 30.0))
        for seed in (0, 1)
    ]


def test_a_panel_has_the_scores_the_papers_figures_and_the_baseline_of_its_block(results) -> None:
    table = grid_table("sampling", GRIDS["sampling"], results, profile="tiny")
    panel = panel_of("a title", table.block(CITY))
    assert panel.rows[0] == ChartRow("ClassMix", (pytest.approx(30.0), pytest.approx(31.0)), (45.61, 0.69))
    assert panel.rows[1] == ChartRow("random queries, random keys", (), (46.56, None))
    assert panel.baseline == 0
    assert panel.source == "paper, Table 1 and Table 4"


def test_where_every_method_is_there_with_reco_too_a_panel_has_pairs_the_best_first(result_of) -> None:
    percent = {"supervised": 50.0, "reco-supervised": 51.0, "vat": 53.0, "reco-vat": 52.0, "reco-dmt": 55.0}
    results = [result_of(row, "camvid-20", 0, score) for row, score in percent.items()]
    table = grid_table("methods", GRIDS["methods"], results, profile="tiny")
    block = table.block("camvid-20")
    panel = panel_of("a", block)
    shown = [(row.title, tuple(row.scores), row.with_reco) for row in panel.rows[:4]]
    assert shown[:3] == [
        ("DMT", (), (pytest.approx(55.0),)),
        ("VAT", (pytest.approx(53.0),), (pytest.approx(52.0),)),
        ("Supervised", (pytest.approx(50.0),), (pytest.approx(51.0),)),
    ]
    assert shown[3][1:] == ((), ())  # those that were not run come last
    assert panel.baseline == 2
    assert len(panel.rows) == 17
    assert not panel_of("a", [line for line in block if line.row != "reco-vat"]).has_pairs
    assert not panel_of("a", grid_table("mixes", GRIDS["mixes"], [], profile="tiny").block(CITY)).has_pairs


def test_the_chart_of_pairs_says_what_its_colours_mean(result_of, tmp_path) -> None:
    table = grid_table("leaders", GRIDS["leaders"], [], profile="tiny")
    draw_table(tmp_path / "a.svg", table)
    assert "grey alone" in (tmp_path / "a.svg").read_text(encoding="utf-8")


def test_methods_that_the_paper_alone_has_are_not_drawn() -> None:
    table = grid_table("both-deeplabs", GRIDS["both-deeplabs"], [], profile="tiny")
    assert [row.title for row in panel_of("a", table.block("voc-all")).rows] == [
        "Supervised, DeepLabV2",
        "Supervised",
    ]


def test_the_chart_of_a_grid_names_its_profile_and_what_was_not_run(results, tmp_path) -> None:
    table = grid_table("cityscapes-20", GRIDS["cityscapes-20"], results, profile="tiny")
    draw_table(tmp_path / "a.svg", table)
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "(profile tiny)" in text
    assert "Grid cityscapes-20, 1,200 iterations; mean IoU in per cent on val" in text
    assert text.count(">not run<") == 5
    assert ">20.5<" in text
    assert ">49.86<" in text


def test_learning_is_drawn_of_the_rows_that_have_curves_and_tells_their_seeds(results, tmp_path) -> None:
    grid = GRIDS["cityscapes-20"]
    table = grid_table("cityscapes-20", grid, results, profile="tiny")
    draw_learning(tmp_path / "a.svg", table, results)
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert ">ClassMix (2 of 3 seeds)<" in text
    assert ">Supervised (2 of 3 seeds)<" in text
    assert ">ReCo + ClassMix" not in text  # it has no curve
    whole = grid_table("cityscapes-20", replace(grid, seeds=(0, 1)), results, profile="tiny")
    draw_learning(tmp_path / "b.svg", whole, results)
    assert ">ClassMix<" in (tmp_path / "b.svg").read_text(encoding="utf-8")


def test_seeds_are_told_where_some_are_missing() -> None:
    assert seeds_of([3, 3], 3) == ""
    assert seeds_of([1, 1], 3) == " (1 of 3 seeds)"
    assert seeds_of([3, 0, 2], 3) == " (0 to 3 of 3 seeds)"


def test_learning_without_any_curve_is_an_error_in_one_line(tmp_path) -> None:
    table = grid_table("cityscapes-20", GRIDS["cityscapes-20"], [], profile="tiny")
    with pytest.raises(UserError, match="no run of grid cityscapes-20 has scores over iterations yet"):
        draw_learning(tmp_path / "a.svg", table, [])
    assert not list(tmp_path.iterdir())
