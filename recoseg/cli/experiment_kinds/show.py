"""Show the runs of a grid: how far each is, or the commands that make them.

The commands are ordinary ones of recoseg, for those who hand out work in a way of their own. The last one
gathers what they leave.
"""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING

from recoseg.cli.experiment_kinds.run import add_data_arguments, chosen_data, chosen_lists
from recoseg.cli.experiment_words import add_grid_arguments, chosen_cells, chosen_grid
from recoseg.cli.main import tell_troubles
from recoseg.errors import UserError

if TYPE_CHECKING:
    from recoseg.experiments.cells import Cell


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_grid_arguments(parser)
    add_data_arguments(parser)
    parser.add_argument("--commands", action="store_true", help="print the commands of each run")


def run(arguments: argparse.Namespace) -> int:
    from recoseg.cli.terminal import new_console
    from recoseg.experiments.board import Board
    from recoseg.experiments.live import board_view

    grid = chosen_grid(arguments)
    if arguments.commands:
        show_commands(chosen_cells(arguments, chosen_data(arguments, grid), chosen_lists(arguments, grid)))
        print(f"# when all are done: their results, for the table\n{gathering(arguments)}")
        return 0
    if arguments.data or arguments.lists or arguments.trust:
        raise UserError("--data, --lists and --trust have no effect without --commands")
    board = Board(chosen_cells(arguments))
    board.look()
    title = f"{grid.title}; profile {board.cells[0].profile}"
    new_console().print(board_view(board, title))
    return tell_troubles(board.troubles())


def gathering(arguments: argparse.Namespace) -> str:
    """The command that finds these runs done, and leaves their results."""
    words = ["recoseg", "experiments", "run", arguments.grid, "--profile", arguments.profile]
    words += ["--runs", arguments.runs]
    for option in ("seeds", "only", "data"):
        if values := getattr(arguments, option):
            words += [f"--{option}", *map(str, values)]
    words += ["--lists", arguments.lists] if arguments.lists else []
    return shlex.join([*words, *(["--trust"] if arguments.trust else [])])


def show_commands(cells: list[Cell]) -> None:
    for cell in {cell.folder: cell for cell in cells}.values():
        print(f"# {cell.name}")
        for command in (cell.begin(), cell.score()):
            print(shlex.join(["recoseg", *command]))
