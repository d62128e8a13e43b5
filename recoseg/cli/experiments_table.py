"""The command `recoseg experiments table`: what came out of a grid, in several formats and as charts."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from recoseg.cli.grid_arguments import add_grid_arguments, chosen_cells, chosen_grid
from recoseg.cli.main import tell_troubles
from recoseg.errors import UserError
from recoseg.text import printable

if TYPE_CHECKING:
    from recoseg.experiments.plan.cells import Cell
    from recoseg.experiments.tables.results import Result
    from recoseg.tables import Table

FORMATS = ("text", "markdown", "csv", "latex")


def add_table_arguments(parser: argparse.ArgumentParser) -> None:
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
    parser.add_argument(
        "--wide", action="store_true", help="with boundary scores, and time and memory of a step"
    )
    parser.add_argument(
        "--beside", action="store_true", help="columns side by side: a line for each method, as in papers"
    )
    parser.add_argument("--format", choices=FORMATS, default="text", help="default: text, for the terminal")
    parser.add_argument("--out", metavar="FILE", help="write the table there, not to the terminal")
    parser.add_argument("--chart", metavar="FILE", help="draw the scores, as .svg, .png or .pdf")
    parser.add_argument("--curves", metavar="FILE", help="draw the scores over iterations")
    parser.add_argument("--force", action="store_true", help="write over existing files")


def make_table(arguments: argparse.Namespace) -> int:
    """Make the table of a grid: mean and interval over seeds, difference to the baseline, paper's figures.

    From the run folders, or from a file of results. Missing runs are shown as missing.
    """
    from recoseg.experiments.tables.charts import draw_learning, draw_table
    from recoseg.experiments.tables.class_scores import class_scores
    from recoseg.experiments.tables.grid_table import grid_table
    from recoseg.experiments.tables.results import add_results

    _require_places(arguments)
    grid, cells = chosen_grid(arguments), chosen_cells(arguments)
    results, troubles = found_results(arguments, cells)
    table = grid_table(arguments.grid, grid, results, profile=cells[0].profile, wide=arguments.wide)
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
        there = {result.column for result in results}
        scores = [class_scores(grid, column, results) for column in grid.columns if column in there]
        if not scores:
            raise UserError(f"none of these runs of grid {arguments.grid} are done yet")
        records = [record for one in scores for record in one.records()]
        write_tables(arguments, [one.table() for one in scores], records=records)
    elif arguments.beside:
        write_tables(arguments, [table.side_by_side()], caption=table.caption(beside=True))
    else:
        records = table.records()
        write_tables(arguments, table.tables(), caption=table.caption(), title="### %s", records=records)
    return tell_troubles(troubles)


def write_tables(
    arguments: argparse.Namespace,
    tables: Sequence[Table],
    *,
    caption: str = "",
    title: str = "%s",
    notes: str = "",
    records: Sequence[Mapping[str, object]] = (),
) -> None:
    """Into the file of --out, or to the terminal. `title` is the form of a title in Markdown; `notes` stand
    below the tables."""
    from recoseg.cli.terminal import new_console
    from recoseg.files import write_whole
    from recoseg.tables import comma_separated, latex, markdown, terminal

    if arguments.format == "text":
        new_console().print(terminal(*tables, caption=caption or notes))
        return
    if arguments.format == "csv":
        text = comma_separated(records)
    elif arguments.format == "latex":
        text = latex(tables, caption=caption) + (f"% {notes}\n" if notes else "")
    else:
        text = markdown(tables, caption=caption, title=title) + (f"\n{notes}\n" if notes else "")
    if arguments.out:
        write_whole(Path(arguments.out), text)
    else:
        print("\n".join(printable(line) for line in text.split("\n")), end="")


def require_output(arguments: argparse.Namespace) -> None:
    """Refuse --out without a format for files, or where nothing can be written."""
    from recoseg.cli.arguments import require_writable

    if arguments.out and arguments.format == "text":
        raise UserError("--out needs a --format for files: markdown, csv or latex")
    if arguments.out:
        require_writable(Path(arguments.out), force=arguments.force, option="--out")


def _require_places(arguments: argparse.Namespace) -> None:
    """What can be wrong with files to write is said before any work is done."""
    from recoseg.cli.arguments import require_writable
    from recoseg.figures.sheet import require_ending

    require_output(arguments)
    for option, other in (("wide", "beside"), ("classes", "beside"), ("classes", "wide")):
        if getattr(arguments, option) and getattr(arguments, other):
            raise UserError(f"--{option} and --{other} are different tables: give one of them")
    if arguments.beside and arguments.format == "csv":
        raise UserError("--beside has no effect on csv, which has a line for each method in each column")
    if arguments.save and arguments.results:
        raise UserError("--save has no effect beside --results, which reads such a file")
    for option in ("save", "chart", "curves"):
        if path := getattr(arguments, option):
            force = arguments.force or option == "save"  # to which others are added
            require_writable(Path(path), force=force, option=f"--{option}")
            if option in ("chart", "curves"):
                require_ending(Path(path))


def found_results(arguments: argparse.Namespace, cells: list[Cell]) -> tuple[list[Result], list[UserError]]:
    """The results of the grid's cells that there are, under the names of its rows.

    And what is damaged: those runs are missing in the table, and told of below it.
    """
    from recoseg.experiments.plan.cells import differing
    from recoseg.experiments.running.execute import result_in
    from recoseg.experiments.tables.results import RESULT_FILE, read_results

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
                if (cell.folder / RESULT_FILE).exists():
                    found[cell] = result_in(cell)
            except UserError as error:
                troubles[cell.folder] = error
    for cell, result in found.items():
        try:
            wanted, has = cell.settings, _settings_of_result(result)
        except UserError as error:
            where = arguments.results or cell.folder / RESULT_FILE
            raise UserError(f"{where}: settings of {cell.name}: {error}") from error
        for name in differing(wanted, has):
            raise UserError(
                f"{cell.name} was run with {name} {has.get(name)}, but profile {cell.profile} has "
                f"{wanted.get(name)}: run it again in another folder, or with a profile of another name"
            )
    return [replace(result, row=cell.row) for cell, result in found.items()], list(troubles.values())


def _settings_of_result(result: Result) -> dict[str, object]:
    """Those that it was run with; settings that did not exist yet have their defaults."""
    from recoseg.config.load import from_flat
    from recoseg.experiments.plan.cells import comparable
    from recoseg.experiments.plan.grids import COLUMNS, DRAWN

    root = {} if COLUMNS[result.column].dataset in DRAWN else {"data.root": "."}
    return comparable(from_flat({**result.settings, **root}))
