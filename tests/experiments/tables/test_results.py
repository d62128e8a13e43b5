"""Results as they are kept: one a line, read back equal, and put in place of older ones."""

from __future__ import annotations

import json

import pytest

from recoseg.errors import UserError
from recoseg.experiments.plan.grids import COLUMNS, GRIDS, ROWS
from recoseg.experiments.tables.results import (
    add_results,
    load_result,
    paper_figure,
    paper_tables,
    read_results,
)


def test_a_result_reads_back_equal(tmp_path, result_of) -> None:
    result = result_of(
        "classmix", "scenes-10", 2, 41.5, curve=((100, 0.3), (200, 0.4)), iou={"sky": 0.9, "car": None},
        settings={"augment.crop": [32, 32], "contrast": None}, boundary_iou=0.25,
    )  # fmt: skip
    result.save(tmp_path / "result.json")
    assert load_result(tmp_path / "result.json") == result


def test_a_file_of_results_keeps_others_and_replaces_the_same_cell(tmp_path, result_of) -> None:
    path = tmp_path / "results.jsonl"
    first = [result_of("classmix", "scenes-10", seed, 40.0) for seed in (1, 0)]
    add_results(path, first)
    newer = [result_of("classmix", "scenes-10", 1, 50.0), result_of("supervised", "scenes-10", 0, 30.0)]
    add_results(path, newer)
    kept = [(result.row, result.seed, result.mean_iou) for result in read_results(path)]
    assert kept == [("classmix", 0, 0.4), ("classmix", 1, 0.5), ("supervised", 0, 0.3)]
    assert len(path.read_text().splitlines()) == 3
    before = path.read_bytes()
    add_results(path, newer)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON, or cut short"),
        ("[]", "must be an object, not a list"),
        ("{}", "profile is missing"),
        ('"words"', 'must be an object, not "words"'),
        ('"\xff"', "not UTF-8 text"),
    ],
)
def test_what_is_no_result_is_one_clear_line(tmp_path, text, says) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(UserError, match=rf"results\.jsonl line 1: {says}"):
        read_results(path)


def test_an_unknown_field_and_a_missing_file_are_told(tmp_path, result_of) -> None:
    path = tmp_path / "results.jsonl"
    result_of("classmix", "scenes-10", 0, 40.0).save(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), "surprise": 1}))
    with pytest.raises(UserError, match="surprise"):
        read_results(path)
    with pytest.raises(UserError, match="no results at"):
        read_results(tmp_path / "nowhere.jsonl")


OWN = [
    (table, row) for table, rows in paper_tables().items() if not table.endswith("-others") for row in rows
]
OTHERS = [(table, row) for table, rows in paper_tables().items() if table.endswith("-others") for row in rows]


def columns_of(table: str) -> set[str]:
    return {column for grid in GRIDS.values() if grid.table == table for column in grid.columns}


def pairs_of(table: str) -> set[tuple[str, str]]:
    return {pair for grid in GRIDS.values() if grid.table == table for pair in grid.pairs}


@pytest.mark.parametrize(("table", "row"), [pair for pair in OWN if pair[1] != "title"])
def test_every_figure_is_of_a_row_and_a_column_of_a_grid(table: str, row: str) -> None:
    assert row in ROWS
    assert paper_tables()[table][row].keys() <= COLUMNS.keys()
    assert {(row, column) for column in paper_tables()[table][row]} <= pairs_of(table)


@pytest.mark.parametrize(("table", "title"), [pair for pair in OTHERS if pair[1] != "title"])
def test_quoted_methods_are_none_of_our_rows_and_stand_in_columns_of_their_grid(
    table: str, title: str
) -> None:
    assert title not in ROWS
    assert paper_tables()[table][title]
    assert paper_tables()[table][title].keys() <= columns_of(table.removesuffix("-others"))
    assert paper_tables()[table]["title"] == paper_tables()[table.removesuffix("-others")]["title"]


@pytest.mark.parametrize("name", [name for name, grid in GRIDS.items() if grid.table])
def test_every_grid_of_a_table_finds_figures_there(name: str) -> None:
    grid = GRIDS[name]
    found = [paper_figure(grid.table, row, column) for row, column in grid.pairs]
    own = paper_tables()[grid.table]["title"].partition(",")[0]
    assert own in {figure.table for figure in found if figure}


def test_every_table_belongs_to_a_grid() -> None:
    assert {table.removesuffix("-others") for table in paper_tables()} == {
        grid.table for grid in GRIDS.values()
    } - {None}


def test_all_figures_are_per_cent_and_ranges_are_small_and_positive() -> None:
    for table, rows in paper_tables().items():
        for row, columns in rows.items():
            for column, printed in columns.items() if row != "title" else ():
                mean, spread = printed if isinstance(printed, list) else (printed, 0.01)
                assert 15 < mean < 80, (table, row, column)
                assert 0 < spread < 10, (table, row, column)


def test_the_tables_have_as_many_figures_as_the_paper_prints() -> None:
    """Table 1: six methods in nine columns, and two methods with all labels of three datasets."""
    count = {
        name: sum(len(columns) for row, columns in rows.items() if row != "title")
        for name, rows in paper_tables().items()
    }
    assert count["full-labels"] == 6 * 9 + 2 * 3
    assert count["voc-partitions"] == 8 * 4
    assert count["partial-labels"] == 4 * 8
    assert count["both-deeplabs"] == 2 * 2 * 5 + 19 + 14
    assert count["sampling"] == 4


@pytest.mark.parametrize(
    ("table", "row", "column", "mean", "spread", "where"),
    [
        ("full-labels", "classmix", "voc-60", 49.06, 8.69, "Table 1"),
        ("full-labels", "reco-supervised", "sun-all", 52.01, 0.54, "Table 1"),
        ("voc-partitions", "reco-classmix", "voc-92", 64.78, None, "Table 2 (PseudoSeg's training strategy)"),
        ("partial-labels", "cutmix", "cityscapes-1-pixel", 46.91, 0.26, "Table 3"),
        ("sampling", "easy-active", "cityscapes-20", 45.81, None, "Table 4"),
        ("feature-bank", "feature-bank", "cityscapes-20", 49.34, None, "Section 4.4"),
        ("feature-bank", "reco-classmix", "cityscapes-20", 49.86, None, "Section 4.4"),
        ("both-deeplabs", "reco-classmix", "cityscapes-1488", 70.63, None, "Appendix B"),
        ("both-deeplabs", "supervised", "voc-all", 77.75, None, "Appendix B"),  # 77.79 in Table 1
        ("queries", "queries-32", "cityscapes-20", 47.39, None, "Figure 7a"),
        ("keys", "keys-256", "cityscapes-20", 49.35, None, "Figure 7b"),
        ("unlabelled-share", "unlabelled-10", "cityscapes-20", 46.72, None, "Figure 7c"),
        ("unlabelled-share", "reco-classmix", "cityscapes-20", 49.86, 0.28, "Table 1"),  # not in the figure
        ("mixes", "reco-cutout", "cityscapes-20", 44.91, None, "Figure 7d"),
        ("both-deeplabs", "dmt-v2", "voc-1323", 72.70, None, "Appendix B"),
    ],
)  # fmt: skip
def test_figures_are_as_printed(table, row, column, mean, spread, where) -> None:
    figure = paper_figure(table, row, column)
    assert (figure.mean, figure.spread, figure.table) == (mean, spread, where)


def test_what_the_paper_does_not_have_is_none() -> None:
    assert paper_figure("full-labels", "s4gan", "voc-all") is None
    assert paper_figure("full-labels", "classmix", "camvid-20") is None
    assert paper_figure(None, "classmix", "cityscapes-20") is None
