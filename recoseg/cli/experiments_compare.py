"""The command `recoseg experiments compare`: whether rows differ by more than chance between seeds."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from recoseg.cli.experiments_table import FORMATS, found_results, require_output, write_or_print
from recoseg.cli.grid_arguments import add_runs_arguments, chosen_part, chosen_profile
from recoseg.cli.main import tell_troubles
from recoseg.errors import UserError
from recoseg.files import real
from recoseg.text import lookup, printable

if TYPE_CHECKING:
    from recoseg.experiments.plan.cells import Cell
    from recoseg.experiments.tables.comparison import ComparisonTable, Pair


def add_compare_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rows", metavar="ROW", nargs="*", help="rows; each is compared with the first")
    parser.add_argument(
        "--pair", metavar="ROW", nargs=2, action="append", default=[], help="compare these two as well"
    )
    parser.add_argument(
        "--resolve",
        metavar="POINTS",
        type=float,
        default=1.0,
        help="the difference that `more seeds` resolve (default 1.0)",
    )
    add_runs_arguments(parser, only="some columns or datasets", seeds="all that have results")
    parser.add_argument("--results", metavar="FILE", help="read a file of results, not run folders")
    parser.add_argument("--format", choices=FORMATS, default="text", help="default: text, for the terminal")
    parser.add_argument("--out", metavar="FILE", help="write the table there, not to the terminal")
    parser.add_argument("--force", action="store_true", help="write over an existing file")


def compare(arguments: argparse.Namespace) -> int:
    """Compare rows seed by seed: mean difference, 95 % interval, p-values, and how many seeds are missing.

    From the run folders, or from a file of results, in every column that has both rows. Seeds that only one
    of them has are left out.
    """
    from recoseg.experiments.tables.class_scores import latex, markdown
    from recoseg.experiments.tables.comparison import comma_separated, compare_rows, legend, tables_of

    require_output(arguments)
    if not 0.01 <= arguments.resolve <= 100:
        raise UserError(f"--resolve {arguments.resolve:g}: a difference of 0.01 to 100 points")
    pairs = _chosen_pairs(arguments)
    results, troubles = found_results(arguments, _cells_of_results(arguments, pairs))
    comparisons, notes = compare_rows(results, pairs, size=arguments.resolve)
    if not comparisons:
        why = notes[0] if notes else "no column has results of both rows"
        raise UserError(f"nothing to compare in {arguments.results or arguments.runs}: {why}")
    tables, about = tables_of(comparisons), legend(len(comparisons), arguments.resolve)
    if arguments.format == "text":
        _print_tables(tables, about)
    elif arguments.format == "csv":
        write_or_print(arguments, comma_separated(comparisons))
    elif arguments.format == "latex":
        write_or_print(arguments, f"{latex(tables)}% {about}\n")
    else:
        write_or_print(arguments, f"{markdown(tables)}\n{about}\n")
    for note in notes:
        print(printable(f"recoseg: {note}"), file=sys.stderr)
    return tell_troubles(troubles)


def _chosen_pairs(arguments: argparse.Namespace) -> list[Pair]:
    """The first row with each other one, then the pairs asked for."""
    from recoseg.experiments.plan.grids import ROWS

    first, *others = arguments.rows or [None]
    pairs = list(dict.fromkeys([*((first, row) for row in others), *map(tuple, arguments.pair)]))
    for row in (row for row in (first, *(row for pair in pairs for row in pair)) if row is not None):
        lookup(ROWS, row, what="row")
    if not pairs or (first and not others):
        raise UserError("give two rows or more to compare, such as classmix reco-classmix")
    return pairs


def _cells_of_results(arguments: argparse.Namespace, pairs: Sequence[Pair]) -> list[Cell]:
    """The cells of these rows in all columns and with all seeds that have results."""
    from recoseg.experiments.plan.cells import cells_of
    from recoseg.experiments.plan.grids import COLUMNS, Grid, all_of
    from recoseg.experiments.tables.results import RESULT_FILE, read_results

    profile, out = chosen_profile(arguments), real(Path(arguments.runs))
    if arguments.results:
        kept = [result for result in read_results(Path(arguments.results)) if result.profile == profile.name]
        places = [(result.column, result.seed) for result in kept]
    else:
        files = (out / profile.name).glob(f"*/*/seed-*/{RESULT_FILE}")
        names = [(file.parts[-4], file.parts[-2].removeprefix("seed-")) for file in files]
        places = [(column, int(seed)) for column, seed in names if seed.isdecimal()]
    columns = sorted({column for column, _ in places if column in COLUMNS})
    seeds = sorted({seed for _, seed in places})
    if not columns:
        where = arguments.results or arguments.runs
        raise UserError(
            f"{where} has no results of profile {profile.name}; give --results, --runs or --profile"
        )
    rows = tuple(dict.fromkeys(row for pair in pairs for row in pair))
    grid = chosen_part(Grid("", all_of(rows, *columns), None, seeds=tuple(seeds)), arguments)
    cells = cells_of(grid, profile, seeds=grid.seeds, out=out)
    owners = {(cell.column, cell.row): cell.owner for cell in cells}
    for (column, first), second in (
        ((column, first), second) for column in columns for first, second in pairs
    ):
        if (column, first) in owners and owners[column, first] == owners.get((column, second)):
            raise UserError(f"{first} and {second} are the same runs in {column}")
    return cells


def _print_tables(tables: Sequence[ComparisonTable], about: str) -> None:
    from recoseg.cli.terminal import new_console
    from recoseg.experiments.tables.comparison import terminal

    console = new_console()
    console.print(*map(terminal, tables))
    print(fill(about, min(console.width, 79)))
