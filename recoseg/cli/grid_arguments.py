"""What the commands of `recoseg experiments` are given: a grid, some of its runs, and where the data are."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from recoseg.cli.arguments import add_trust_argument
from recoseg.errors import UserError
from recoseg.files import real
from recoseg.text import did_you_mean, lookup

if TYPE_CHECKING:
    from recoseg.experiments.plan.cells import Cell
    from recoseg.experiments.plan.grids import Grid
    from recoseg.experiments.plan.profiles import Profile

_RUNS = "runs/experiments"


def add_grid_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("grid", metavar="NAME", help="a grid of recoseg experiments list")
    add_runs_arguments(parser, only="some rows, columns or datasets of the grid", seeds="those of the grid")


def add_runs_arguments(parser: argparse.ArgumentParser, *, only: str, seeds: str) -> None:
    parser.add_argument(
        "--profile",
        metavar="PROFILE",
        default="small",
        help="small (default), for a CPU; paper, for GPUs; or a YAML file of your own",
    )
    parser.add_argument("--seeds", metavar="N", type=int, nargs="+", help=f"default: {seeds}")
    parser.add_argument("--only", metavar="WORD", nargs="+", default=[], help=only)
    parser.add_argument(
        "--runs", metavar="FOLDER", default=_RUNS, help=f"where the runs are, or shall be (default: {_RUNS})"
    )


def add_data_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data",
        metavar="FOLDER",
        nargs="+",
        default=[],
        help="the dataset's folder; NAME=FOLDER for each, where a grid has several, such as voc=VOC2012",
    )
    parser.add_argument(
        "--lists", metavar="FOLDER", help="published lists of labelled images, such as FOLDER/voc-92.txt"
    )
    add_trust_argument(parser)


def chosen_grid(arguments: argparse.Namespace) -> Grid:
    """The part of the grid that was asked for."""
    from recoseg.experiments.plan.grids import GRIDS

    return chosen_part(lookup(GRIDS, arguments.grid, what="grid"), arguments)


def chosen_part(grid: Grid, arguments: argparse.Namespace) -> Grid:
    """The grid, cut down to the rows, columns and seeds that were asked for."""
    seeds = tuple(dict.fromkeys(arguments.seeds)) if arguments.seeds else grid.seeds
    if any(seed < 0 for seed in seeds):
        raise UserError("--seeds: numbers from 0 on")
    return replace(grid, pairs=_chosen_pairs(grid, arguments.only), seeds=seeds)


def _chosen_pairs(grid: Grid, words: list[str]) -> tuple[tuple[str, str], ...]:
    """Words that name rows choose among rows, those that name columns or datasets among columns."""
    from recoseg.experiments.plan.grids import COLUMNS

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
    from recoseg.experiments.plan.profiles import load_profile

    return load_profile(arguments.profile)


def chosen_cells(
    arguments: argparse.Namespace, data: dict[str, str] | None = None, lists: Path | None = None
) -> list[Cell]:
    from recoseg.experiments.plan.cells import cells_of

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


def chosen_data(arguments: argparse.Namespace, grid: Grid) -> dict[str, str]:
    """Dataset -> folder, for every dataset of the grid that is not drawn."""
    from recoseg.experiments.plan.grids import COLUMNS, DRAWN

    datasets = dict.fromkeys(COLUMNS[column].dataset for column in grid.columns)
    needed = [name for name in datasets if name not in DRAWN]
    data: dict[str, str] = {}
    for word in arguments.data:
        name, equals, folder = word.partition("=")
        if not equals and len(needed) == 1:
            name, folder = needed[0], word
        elif not equals or name not in needed:
            choices = " ".join(f"{needed_name}=FOLDER" for needed_name in needed) or "none: they are drawn"
            raise UserError(f"--data {word}: this grid takes {choices}{did_you_mean(name, needed)}")
        if name in data:
            raise UserError(f"--data: two folders for {name}: {data[name]} and {folder}")
        if not Path(folder).is_dir():
            raise UserError(f"--data: no folder at {folder}")
        data[name] = str(Path(folder).resolve())
    for name in needed:
        if name not in data:
            raise UserError(f"give the folder of {name}: --data {name}=FOLDER")
    return data


def chosen_lists(arguments: argparse.Namespace, grid: Grid) -> Path | None:
    from recoseg.experiments.plan.grids import COLUMNS

    needed = [column for column in grid.columns if COLUMNS[column].published_list]
    lists = real(Path(arguments.lists)) if arguments.lists else None
    if lists is not None and not needed:
        raise UserError("--lists has no effect: the labelled images of this grid are drawn by seed")
    for column in needed:
        if lists is None or not (lists / f"{column}.txt").is_file():
            raise UserError(
                f"{column} is a list that others published: put it into {lists or 'FOLDER'}/{column}.txt, "
                f"and give --lists {lists or 'FOLDER'}"
            )
    return lists
