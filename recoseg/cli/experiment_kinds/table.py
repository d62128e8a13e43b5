"""Make the table of a grid: mean and range over seeds, difference to the baseline, the paper's figures.

From the run folders, or from a file of results. Missing runs are shown as missing.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from recoseg.cli.experiment_words import add_grid_arguments, chosen_cells, chosen_grid
from recoseg.cli.main import tell_troubles
from recoseg.errors import UserError
from recoseg.words import printable

if TYPE_CHECKING:
    from recoseg.experiments.cells import Cell
    from recoseg.experiments.grids import Grid
    from recoseg.experiments.results import Result
    from recoseg.experiments.tables import GridTable

FORMATS = ("text", "markdown", "csv", "latex")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_grid_arguments(parser)
    parser.add_argument(
        "--results", metavar="FILE", help="read a file of results in place of the run folders"
    )
    parser.add_argument("--save", metavar="FILE", help="add what was read to a file of results")
    parser.add_argument(
        "--classes",
        action="store_true",
        help="scores of each class, and boundary scores, in place of the table",
    )
    parser.add_argument("--format", choices=FORMATS, default="text", help="default: text, for the terminal")
    parser.add_argument("--out", metavar="FILE", help="write the table there, not to the terminal")
    parser.add_argument("--chart", metavar="FILE", help="draw the scores, as .svg, .png or .pdf")
    parser.add_argument("--curves", metavar="FILE", help="draw the scores over iterations")
    parser.add_argument("--force", action="store_true", help="write over existing files")


def run(arguments: argparse.Namespace) -> int:
    from recoseg.experiments.charts import draw_learning, draw_table
    from recoseg.experiments.results import add_results
    from recoseg.experiments.tables import grid_table

    require_places(arguments)
    grid, cells = chosen_grid(arguments), chosen_cells(arguments)
    results, troubles = found_results(arguments, cells)
    table = grid_table(arguments.grid, grid, results, profile=cells[0].profile)
    if arguments.save:
        owners = {(cell.column, cell.row): cell.owner for cell in cells}
        add_results(
            Path(arguments.save),
            (replace(result, row=owners[result.column, result.row]) for result in results),
        )
    if arguments.chart:
        draw_table(Path(arguments.chart), table)
    if arguments.curves:
        draw_learning(Path(arguments.curves), table, results)
    if arguments.classes:
        show_classes(arguments, grid, results)
    else:
        show_scores(arguments, table)
    return tell_troubles(troubles)


def show_scores(arguments: argparse.Namespace, table: GridTable) -> None:
    from recoseg.cli.terminal import new_console
    from recoseg.experiments.table_formats import FORMATS as WRITERS
    from recoseg.experiments.table_formats import terminal

    if arguments.format == "text":
        new_console().print(terminal(table))
    else:
        put(arguments, WRITERS[arguments.format](table))


def show_classes(arguments: argparse.Namespace, grid: Grid, results: list[Result]) -> None:
    from recoseg.cli.terminal import new_console
    from recoseg.experiments.class_scores import FORMATS as WRITERS
    from recoseg.experiments.class_scores import class_scores, terminal

    there = {result.column for result in results}
    tables = [class_scores(grid, column, results) for column in grid.columns if column in there]
    if not tables:
        raise UserError(f"none of these runs of grid {arguments.grid} are done yet")
    if arguments.format == "text":
        new_console().print(*(terminal(table) for table in tables))
    else:
        put(arguments, WRITERS[arguments.format](tables))


def put(arguments: argparse.Namespace, text: str) -> None:
    """Into the file that was asked for, or to the terminal."""
    from recoseg.files import write_whole

    if arguments.out:
        write_whole(Path(arguments.out), text)
    else:
        print("\n".join(printable(line) for line in text.split("\n")), end="")


def require_places(arguments: argparse.Namespace) -> None:
    """What can be wrong with files to write is said before any work is done."""
    from recoseg.cli.split import require_writable
    from recoseg.figures.sheet import require_ending

    if arguments.out and arguments.format == "text":
        raise UserError("--out needs a --format for files: markdown, csv or latex")
    if arguments.save and arguments.results:
        raise UserError("--save has no effect beside --results, which reads such a file")
    for option in ("out", "save", "chart", "curves"):
        if path := getattr(arguments, option):
            force = arguments.force or option == "save"  # to which others are added
            require_writable(Path(path), force=force, option=f"--{option}")
            if option in ("chart", "curves"):
                require_ending(Path(path))


def found_results(arguments: argparse.Namespace, cells: list[Cell]) -> tuple[list[Result], list[UserError]]:
    """The results of the grid's cells that there are, under the names of its rows.

    And what is damaged: those runs are missing in the table, and told of below it.
    """
    from recoseg.experiments.cell_settings import differing
    from recoseg.experiments.results import FILE, read_results
    from recoseg.experiments.states import result_in

    found: dict[Cell, Result] = {}
    troubles: dict[Path, UserError] = {}  # by run folder, which rows may share
    if arguments.results:
        kept = {result.place: result for result in read_results(Path(arguments.results))}
        if not kept:
            raise UserError(f"{arguments.results} has no results in it")
        found = {cell: kept[cell.place] for cell in cells if cell.place in kept}
    else:
        for cell in cells:
            try:
                if (cell.folder / FILE).exists():
                    found[cell] = result_in(cell)
            except UserError as error:
                troubles[cell.folder] = error
    for cell, result in found.items():
        try:
            wanted, has = cell.settings(), settings_of_result(result)
        except UserError as error:
            where = arguments.results or cell.folder / FILE
            raise UserError(f"{where}: settings of {cell.name}: {error}") from error
        for name in differing(wanted, has):
            raise UserError(
                f"{cell.name} was run with {name} {has.get(name)}, but profile {cell.profile} has "
                f"{wanted.get(name)}: run it again in another folder, or with a profile of another name"
            )
    return [replace(result, row=cell.row) for cell, result in found.items()], list(troubles.values())


def settings_of_result(result: Result) -> dict[str, object]:
    """Those that it was run with; settings that did not exist yet have their defaults."""
    from recoseg.config.load import from_flat
    from recoseg.experiments.cell_settings import comparable
    from recoseg.experiments.columns import COLUMNS, DRAWN

    root = {} if COLUMNS[result.column].dataset in DRAWN else {"data.root": "."}
    return comparable(from_flat({**result.settings, **root}))
