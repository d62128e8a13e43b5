"""The paper's figures as data."""

from __future__ import annotations

import pytest

from recoseg.experiments.columns import COLUMNS
from recoseg.experiments.grids import GRIDS
from recoseg.experiments.methods import ROWS
from recoseg.experiments.paper_figures import paper_figure, tables

OWN = [(table, row) for table, rows in tables().items() if not table.endswith("-others") for row in rows]
OTHERS = [(table, row) for table, rows in tables().items() if table.endswith("-others") for row in rows]


def columns_of(table: str) -> set[str]:
    return {column for grid in GRIDS.values() if grid.table == table for column in grid.columns}


def pairs_of(table: str) -> set[tuple[str, str]]:
    return {pair for grid in GRIDS.values() if grid.table == table for pair in grid.pairs}


@pytest.mark.parametrize(("table", "row"), [pair for pair in OWN if pair[1] != "title"])
def test_every_figure_is_of_a_row_and_a_column_of_a_grid(table: str, row: str) -> None:
    assert row in ROWS
    assert tables()[table][row].keys() <= COLUMNS.keys()
    assert {(row, column) for column in tables()[table][row]} <= pairs_of(table)


@pytest.mark.parametrize(("table", "title"), [pair for pair in OTHERS if pair[1] != "title"])
def test_quoted_methods_are_none_of_our_rows_and_stand_in_columns_of_their_grid(
    table: str, title: str
) -> None:
    assert title not in ROWS
    assert tables()[table][title]
    assert tables()[table][title].keys() <= columns_of(table.removesuffix("-others"))
    assert tables()[table]["title"] == tables()[table.removesuffix("-others")]["title"]


@pytest.mark.parametrize("name", [name for name, grid in GRIDS.items() if grid.table])
def test_every_grid_of_a_table_finds_figures_there(name: str) -> None:
    grid = GRIDS[name]
    found = [paper_figure(grid.table, row, column) for row, column in grid.pairs]
    own = tables()[grid.table]["title"].partition(",")[0]
    assert own in {figure.table for figure in found if figure}


def test_every_table_belongs_to_a_grid() -> None:
    assert {table.removesuffix("-others") for table in tables()} == {
        grid.table for grid in GRIDS.values()
    } - {None}


def test_all_figures_are_per_cent_and_ranges_are_small_and_positive() -> None:
    for table, rows in tables().items():
        for row, columns in rows.items():
            for column, printed in columns.items() if row != "title" else ():
                mean, spread = printed if isinstance(printed, list) else (printed, 0.01)
                assert 15 < mean < 80, (table, row, column)
                assert 0 < spread < 10, (table, row, column)


def test_the_tables_have_as_many_figures_as_the_paper_prints() -> None:
    """Table 1: six methods in nine columns, and two methods with all labels of three datasets."""
    count = {
        name: sum(len(columns) for row, columns in rows.items() if row != "title")
        for name, rows in tables().items()
    }
    assert count["full-labels"] == 6 * 9 + 2 * 3
    assert count["voc-partitions"] + count["voc-partitions-others"] == 8 * 4
    assert count["partial-labels"] == 4 * 8
    assert count["both-deeplabs"] == 2 * 2 * 5
    assert count["sampling"] == 4


@pytest.mark.parametrize(
    ("table", "row", "column", "mean", "spread", "where"),
    [
        ("full-labels", "classmix", "voc-60", 49.06, 8.69, "Table 1"),
        ("full-labels", "reco-supervised", "sun-all", 52.01, 0.54, "Table 1"),
        ("voc-partitions", "reco-classmix", "voc-92", 64.78, None, "Table 2 (PseudoSeg's training strategy)"),
        ("partial-labels", "cutmix", "cityscapes-1-pixel", 46.91, 0.26, "Table 3"),
        ("sampling", "easy-active", "cityscapes-20", 45.81, None, "Table 4"),
        ("both-deeplabs", "reco-classmix", "cityscapes-1488", 70.63, None, "Appendix B"),
        ("both-deeplabs", "supervised", "voc-all", 77.75, None, "Appendix B"),  # 77.79 in Table 1
        ("queries", "queries-32", "cityscapes-20", 47.39, None, "Figure 7a"),
        ("keys", "keys-256", "cityscapes-20", 49.35, None, "Figure 7b"),
        ("unlabelled-share", "unlabelled-10", "cityscapes-20", 46.72, None, "Figure 7c"),
        ("unlabelled-share", "reco-classmix", "cityscapes-20", 49.86, 0.28, "Table 1"),  # not in the figure
        ("mixes", "reco-cutout", "cityscapes-20", 44.91, None, "Figure 7d"),
        ("both-deeplabs-others", "DMT, DeepLabV2", "voc-1323", 72.70, None, "Appendix B"),
    ],
)  # fmt: skip
def test_figures_are_as_printed(table, row, column, mean, spread, where) -> None:
    figure = paper_figure(table, row, column)
    assert (figure.mean, figure.spread, figure.table) == (mean, spread, where)


def test_what_the_paper_does_not_have_is_none() -> None:
    assert paper_figure("full-labels", "s4gan", "voc-all") is None
    assert paper_figure("full-labels", "classmix", "camvid-20") is None
    assert paper_figure(None, "classmix", "cityscapes-20") is None
