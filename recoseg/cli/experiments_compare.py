"""The command `recoseg experiments compare`: whether rows differ by more than chance between seeds."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from recoseg.cli.experiments_table import found_results, require_output, write_tables
from recoseg.cli.grid_arguments import add_runs_arguments, chosen_part, chosen_profile
from recoseg.cli.main import tell_troubles
from recoseg.errors import UserError
from recoseg.files import real
from recoseg.text import lookup, printable

if TYPE_CHECKING:
    from recoseg.experiments.plan.cells import Cell


def add_compare_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rows", metavar="ROW", nargs="+", help="rows; each is compared with the first")
    parser.add_argument(
        "--pairs", action="store_true", help="compare rows two by two: the second with the first, and so on"
    )
    parser.add_argument(
        "--resolve", metavar="POINTS", type=float, default=1.0,
        help="count how many more seeds resolve a difference of that size (default 1.0)",
    )  # fmt: skip
    add_runs_arguments(parser, only="some columns or datasets", seeds="all that have results")
    parser.add_argument("--results", metavar="FILE", help="read a file of results, not run folders")
    parser.add_argument(
        "--format", choices=("text", "markdown", "latex"), default="text", help="default: text"
    )
    parser.add_argument("--out", metavar="FILE", help="write the table there, not to the terminal")
    parser.add_argument("--force", action="store_true", help="write over an existing file")


def compare(arguments: argparse.Namespace) -> int:
    """Compare rows seed by seed: mean difference, 95 % interval, p-values, and how many more seeds to run.

    Reads run folders or a file of results, and compares in every column that has both rows.
    """
    from recoseg.experiments.plan.grids import ROWS
    from recoseg.experiments.tables.comparison import compare_rows, legend, tables_of

    require_output(arguments)
    rows = arguments.rows if arguments.pairs else list(dict.fromkeys(arguments.rows))
    for row in rows:
        lookup(ROWS, row, what="row")
    if len(rows) < 2 or (arguments.pairs and len(rows) % 2):
        needed = "an even number of rows" if arguments.pairs else "two rows or more"
        raise UserError(f"give {needed} to compare, such as classmix reco-classmix")
    if not 0.01 <= arguments.resolve <= 100:
        raise UserError(f"--resolve {arguments.resolve:g}: a difference of 0.01 to 100 points")
    pairs = (
        list(zip(rows[::2], rows[1::2], strict=True))
        if arguments.pairs
        else [(rows[0], row) for row in rows[1:]]
    )
    results, troubles = found_results(arguments, _cells_with_results(arguments, rows))
    comparisons, notes = compare_rows(results, pairs)
    if not comparisons:
        tell_troubles(troubles)
        why = notes[0] if notes else "no column has results of both rows"
        raise UserError(f"nothing to compare in {arguments.results or arguments.runs}: {why}")
    tables = tables_of(comparisons, arguments.resolve)
    write_tables(arguments, tables, notes=legend(len(comparisons), arguments.resolve))
    for note in notes:
        print(printable(f"recoseg: {note}"), file=sys.stderr)
    return tell_troubles(troubles)


def _cells_with_results(arguments: argparse.Namespace, rows: list[str]) -> list[Cell]:
    """The cells of these rows in all columns and with all seeds that have results."""
    from recoseg.experiments.plan.cells import cells_of
    from recoseg.experiments.plan.grids import COLUMNS, Grid, all_of
    from recoseg.experiments.tables.results import RESULT_FILE, read_results

    profile, out = chosen_profile(arguments), real(Path(arguments.runs))
    if arguments.results:
        kept = read_results(Path(arguments.results))
        places = {(one.column, one.seed) for one in kept if one.profile == profile.name}
    else:
        folders = [file.parent for file in (out / profile.name).glob(f"*/*/seed-*/{RESULT_FILE}")]
        seeds = [folder.name.removeprefix("seed-") for folder in folders]
        places = {
            (folder.parts[-3], int(seed))
            for folder, seed in zip(folders, seeds, strict=True)
            if seed.isdecimal()
        }
    columns = sorted({column for column, _ in places if column in COLUMNS})
    if not columns:
        where = arguments.results or arguments.runs
        raise UserError(
            f"{where} has no results of profile {profile.name}; give --results, --runs or --profile"
        )
    everything = Grid(
        "", all_of(tuple(rows), *columns), None, seeds=tuple(sorted({seed for _, seed in places}))
    )
    grid = chosen_part(everything, arguments)
    return cells_of(grid, profile, seeds=grid.seeds, out=out)
