"""Run the paper's tables: grids of runs, and their scores beside the paper's.

recoseg experiments COMMAND --help tells more of each.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from recoseg.cli.experiments_compare import add_compare_arguments, compare
from recoseg.cli.experiments_run import add_run_arguments, run_grid
from recoseg.cli.experiments_table import add_table_arguments, make_table
from recoseg.cli.grid_arguments import (
    add_data_arguments,
    add_grid_arguments,
    chosen_cells,
    chosen_data,
    chosen_grid,
    chosen_lists,
    chosen_profile,
)
from recoseg.cli.main import tell_troubles
from recoseg.cli.subcommands import Subcommand, added_subcommands
from recoseg.errors import UserError

if TYPE_CHECKING:
    from recoseg.experiments.plan.cells import Cell
    from recoseg.experiments.plan.profiles import Profile


EXAMPLES = (
    "recoseg experiments list",
    "recoseg experiments show camvid-20",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    for _, subcommand, subparser in added_subcommands(parser, SUBCOMMANDS, metavar="COMMAND"):
        subcommand.add_arguments(subparser)
        subparser.set_defaults(run_subcommand=subcommand.run)


def run(arguments: argparse.Namespace) -> int:
    code: int = arguments.run_subcommand(arguments)
    return code


def _list_grids(arguments: argparse.Namespace) -> int:
    """List the grids, with the table of the paper that each is of."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from recoseg.cli.terminal import new_console
    from recoseg.experiments.plan.grids import GRIDS
    from recoseg.experiments.tables.results import paper_tables

    table = Table("grid", "runs", "what it compares", "in the paper", box=SIMPLE_HEAD)
    table.columns[0].no_wrap = True
    table.columns[1].justify = "right"
    for name, grid in GRIDS.items():
        title = paper_tables()[grid.table]["title"] if grid.table else ""
        where = title.partition(",")[0].partition(" (")[0]  # its name alone: there is little room
        table.add_row(name, str(len(grid.pairs) * len(grid.seeds)), grid.title, where)
    new_console().print(table)
    print("recoseg experiments show NAME tells more of one.")
    return 0


def _add_show_arguments(parser: argparse.ArgumentParser) -> None:
    add_grid_arguments(parser)
    add_data_arguments(parser)
    parser.add_argument("--commands", action="store_true", help="print the commands of each run")


def _show_runs(arguments: argparse.Namespace) -> int:
    """Show the runs of a grid: how far each is, or the commands that make them.

    The commands are ordinary ones of recoseg, for those who hand out work in a way of their own. The last one
    gathers what they leave.
    """
    from recoseg.cli.terminal import new_console
    from recoseg.experiments.running.board import Board, board_view

    grid = chosen_grid(arguments)
    if arguments.commands:
        lists = chosen_lists(arguments, grid)
        cells = chosen_cells(arguments, chosen_data(arguments, grid), lists)
        _show_commands(cells, chosen_profile(arguments), lists)
        print(f"# when all are done: their results, for the table\n{_gathering(arguments)}")
        return 0
    if arguments.data or arguments.lists or arguments.trust:
        raise UserError("--data, --lists and --trust have no effect without --commands")
    board = Board(chosen_cells(arguments))
    board.refresh()
    title = f"{grid.title}; profile {board.cells[0].profile}"
    new_console().print(board_view(board, title))
    return tell_troubles(board.troubles())


def _gathering(arguments: argparse.Namespace) -> str:
    """The command that finds these runs done, and leaves their results."""
    words = ["recoseg", "experiments", "run", arguments.grid, "--profile", arguments.profile]
    words += ["--runs", arguments.runs]
    for option in ("seeds", "only", "data"):
        if values := getattr(arguments, option):
            words += [f"--{option}", *map(str, values)]
    words += ["--lists", arguments.lists] if arguments.lists else []
    return shlex.join([*words, *(["--trust"] if arguments.trust else [])])


def _show_commands(cells: list[Cell], profile: Profile, lists: Path | None) -> None:
    """They name what differs from the profile's config, which tells a person more than a whole config."""
    from recoseg.experiments.plan.cells import settings_of
    from recoseg.experiments.plan.grids import COLUMNS, ROWS

    for cell in {cell.folder: cell for cell in cells}.values():
        settings = settings_of(profile, cell.column, ROWS[cell.row], cell.seed, lists=lists)
        config = str(profile.config(COLUMNS[cell.column].dataset))
        train = ["train", "--config", config, *as_words(settings), *cell.data]
        print(f"# {cell.name}")
        for command in ([*train, "--no-page", "--out", str(cell.folder)], cell.score()):
            print(shlex.join(["recoseg", *command]))


def as_words(settings: Mapping[str, object]) -> list[str]:
    """Settings as the command line takes them."""
    return [word for name, value in settings.items() for word in (f"--{name}", _as_word(value))]


def _as_word(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(_as_word(item) for item in value)
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None else str(value)


SUBCOMMANDS = {
    "list": Subcommand(_list_grids, examples=["recoseg experiments list"]),
    "show": Subcommand(
        _show_runs, _add_show_arguments, ["recoseg experiments show camvid-20 --profile small"]
    ),
    "run": Subcommand(
        run_grid,
        add_run_arguments,
        [
            "recoseg experiments run scenes --profile tiny",
            "recoseg experiments run camvid-20 --profile small --data data/camvid --seeds 0",
        ],
    ),
    "table": Subcommand(
        make_table, add_table_arguments, ["recoseg experiments table camvid-20 --profile small"]
    ),
    "compare": Subcommand(
        compare,
        add_compare_arguments,
        ["recoseg experiments compare classmix reco-classmix --results results/small.jsonl"],
    ),
}
