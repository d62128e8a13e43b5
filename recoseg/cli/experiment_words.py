"""What the commands of `recoseg experiments` share: naming a grid, and choosing among its runs."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from recoseg.errors import UserError
from recoseg.files import real
from recoseg.lookup import did_you_mean

if TYPE_CHECKING:
    from recoseg.experiments.cells import Cell
    from recoseg.experiments.grids import Grid
    from recoseg.experiments.profiles import Profile

RUNS = "runs/experiments"


def add_grid_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("grid", metavar="NAME", help="a grid of recoseg experiments list")
    parser.add_argument(
        "--profile",
        metavar="PROFILE",
        default="small",
        help="small (default), for a CPU; paper, for GPUs; or a YAML file of your own",
    )
    parser.add_argument("--seeds", metavar="N", type=int, nargs="+", help="default: those of the grid")
    parser.add_argument(
        "--only", metavar="WORD", nargs="+", default=[], help="some rows, columns or datasets of the grid"
    )
    parser.add_argument(
        "--runs", metavar="FOLDER", default=RUNS, help=f"where the runs are, or shall be (default: {RUNS})"
    )


def chosen_grid(arguments: argparse.Namespace) -> Grid:
    """The grid, cut down to the rows, columns and seeds that were asked for."""
    from recoseg.experiments.grids import GRIDS
    from recoseg.lookup import lookup

    grid: Grid = lookup(GRIDS, arguments.grid, what="grid")
    seeds = tuple(dict.fromkeys(arguments.seeds)) if arguments.seeds else grid.seeds
    if any(seed < 0 for seed in seeds):
        raise UserError("--seeds: numbers from 0 on")
    return replace(grid, pairs=chosen_pairs(grid, arguments.only), seeds=seeds)


def chosen_pairs(grid: Grid, words: list[str]) -> tuple[tuple[str, str], ...]:
    """Words that name rows choose among rows, those that name columns or datasets among columns."""
    from recoseg.experiments.columns import COLUMNS

    datasets = {column: COLUMNS[column].dataset for column in grid.columns}
    rows = {word for word in words if word in grid.rows}
    columns = {column for column, dataset in datasets.items() for word in words if word in (column, dataset)}
    for word in words:
        known = [*grid.rows, *grid.columns, *dict.fromkeys(datasets.values())]
        if word not in known:
            raise UserError(f"--only: the grid has no {word!r}{did_you_mean(word, known)}")
    pairs = tuple(
        (row, column)
        for row, column in grid.pairs
        if (not rows or row in rows) and (not columns or column in columns)
    )
    if not pairs:
        raise UserError(f"--only {' '.join(words)}: the grid has no such run")
    return pairs


def chosen_profile(arguments: argparse.Namespace) -> Profile:
    from recoseg.experiments.profiles import load_profile

    return load_profile(arguments.profile)


def chosen_cells(
    arguments: argparse.Namespace, data: dict[str, str] | None = None, lists: Path | None = None
) -> list[Cell]:
    from recoseg.experiments.cells import cells_of

    grid = chosen_grid(arguments)
    cells = cells_of(
        grid,
        chosen_profile(arguments),
        seeds=grid.seeds,
        out=real(Path(arguments.runs)),
        data=data,
        lists=lists,
    )
    return [replace(cell, trust=getattr(arguments, "trust", False)) for cell in cells]
