"""The grids: the rows, columns and runs of the paper's tables."""

from __future__ import annotations

import pytest

from recoseg.experiments.columns import COLUMNS
from recoseg.experiments.grids import GRIDS
from recoseg.experiments.methods import ROWS


@pytest.mark.parametrize(
    ("name", "rows", "columns", "runs"),
    [
        ("full-labels", 7, 12, 180),  # 3 datasets x (3 budgets x 6 methods + all labels x 2) x 3 seeds
        ("cityscapes-20", 7, 1, 21),
        ("camvid-20", 3, 1, 9),
        ("ceiling", 1, 2, 2),
        ("voc-partitions", 3, 4, 36),
        ("partial-labels", 4, 8, 96),
        ("both-deeplabs", 4, 10, 60),  # 8 partitions x 2 networks, all labels of 2 datasets x 2 networks
        ("queries", 5, 1, 15),
        ("keys", 5, 1, 15),
        ("unlabelled-share", 5, 1, 15),
        ("mixes", 6, 1, 18),
        ("sampling", 5, 1, 15),
        ("key-sharing", 3, 1, 9),
        ("teacher-norm", 3, 1, 9),
        ("scenes", 3, 1, 9),
    ],
)
def test_a_grid_has_so_many_rows_columns_and_runs(name, rows, columns, runs) -> None:
    grid = GRIDS[name]
    assert (len(grid.rows), len(grid.columns)) == (rows, columns)
    assert len(grid.pairs) * len(grid.seeds) == runs
    assert len(set(grid.pairs)) == len(grid.pairs)


def test_all_grids_are_counted_above() -> None:
    assert len(GRIDS) == 15


@pytest.mark.parametrize("name", GRIDS)
def test_a_grid_names_rows_and_columns_that_exist_and_has_its_baseline_in_every_table_that_compares(
    name,
) -> None:
    grid = GRIDS[name]
    assert set(grid.rows) <= set(ROWS)
    assert set(grid.columns) <= set(COLUMNS)
    assert grid.baseline in grid.rows


def test_full_labels_has_the_papers_budgets_and_methods() -> None:
    pairs = set(GRIDS["full-labels"].pairs)
    few = {"supervised", "s4gan", "cutout", "cutmix", "classmix", "reco-classmix"}
    budgets = {"voc": (60, 200, 600), "cityscapes": (20, 50, 150), "sun": (50, 150, 500)}
    expected = {(row, f"{name}-{labels}") for name, many in budgets.items() for labels in many for row in few}
    expected |= {(row, f"{name}-all") for name in budgets for row in ("supervised", "reco-supervised")}
    assert pairs == expected


def test_every_row_and_column_is_in_some_grid() -> None:
    pairs = [pair for grid in GRIDS.values() for pair in grid.pairs]
    assert {row for row, _ in pairs} == set(ROWS)
    assert {column for _, column in pairs} == set(COLUMNS)
