"""Run what is not done yet of a grid, and show its scores as they come.

Every run is an ordinary run folder, RUNS/PROFILE/COLUMN/ROW/seed-N. Finished ones are skipped, those that
ended early are resumed: after Ctrl-C, or a crash, the same command goes on.
"""

from __future__ import annotations

import argparse
import traceback
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from recoseg.cli.experiment_words import add_grid_arguments, chosen_cells, chosen_grid
from recoseg.cli.run_words import add_trust_argument
from recoseg.cli.split import require_workers
from recoseg.errors import UserError
from recoseg.files import real
from recoseg.lookup import did_you_mean
from recoseg.words import printable

if TYPE_CHECKING:
    from rich.console import Console

    from recoseg.experiments.board import Board
    from recoseg.experiments.cells import Cell
    from recoseg.experiments.grids import Grid
    from recoseg.experiments.run_cells import Workers


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_grid_arguments(parser)
    add_data_arguments(parser)
    parser.add_argument(
        "--workers",
        metavar="N",
        type=int,
        help="runs at a time, on each machine, which share its cores (default 1)",
    )
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="on a Ray cluster: its address, auto, or local for one on this machine",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="only tell how many runs there are, and time a few steps of each",
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


def run(arguments: argparse.Namespace) -> int:
    from recoseg.cli.terminal import new_console
    from recoseg.experiments.board import Board

    grid = chosen_grid(arguments)
    if arguments.workers is not None:
        require_workers(arguments.workers)
    if arguments.dry_run and arguments.ray:
        raise UserError("--dry-run times steps on this machine: leave out --ray")
    board = Board(chosen_cells(arguments, chosen_data(arguments, grid), chosen_lists(arguments, grid)))
    board.look()
    require_trusted(board.unfinished())
    console = new_console()
    if arguments.dry_run:
        from recoseg.cli.experiment_kinds.dry_run import tell

        return tell(board, workers=arguments.workers or 1, console=console)
    return do(board, arguments, grid.title, console)


def require_trusted(cells: Sequence[Cell]) -> None:
    """Runs are scored by commands of their own, which would refuse it when they are trained."""
    from recoseg.builders.load import require_trust
    from recoseg.experiments.cell_settings import without_data
    from recoseg.experiments.columns import COLUMNS

    for cell in cells:
        config = without_data(cell.config, COLUMNS[cell.column].dataset)
        require_trust(config, cell.config, trust=cell.trust)


def do(board: Board, arguments: argparse.Namespace, title: str, console: Console) -> int:
    from recoseg.experiments.live import board_view, shown_live
    from recoseg.experiments.run_cells import run_cells

    title = f"{title}; profile {board.cells[0].profile}"
    if board.unfinished():
        workers = chosen_workers(arguments)
        try:
            with shown_live(console, title, workers.count) as show:
                run_cells(board, workers, show)
        finally:
            console.print(board_view(board, title, workers.count))
    else:
        console.print(board_view(board, title))
    for failure in board.failures.values():
        console.print(printable(f"failed: {failure}"), soft_wrap=True)
    return 1 if board.failures else 0


def chosen_workers(arguments: argparse.Namespace) -> Workers:
    if arguments.ray is None:
        from recoseg.experiments.local import LocalWorkers

        return LocalWorkers(arguments.workers or 1)
    from recoseg.experiments.on_ray import RayWorkers

    return RayWorkers(arguments.ray, arguments.workers, in_this_process)


def in_this_process(command: Sequence[str], log: Path) -> int:
    """Run a command of recoseg with its output appended to a file; returns its exit code."""
    from recoseg.cli.main import main

    with log.open("a", encoding="utf-8") as output, redirect_stdout(output), redirect_stderr(output):
        try:
            return main(command)
        except Exception:  # a mistake of ours: all of it belongs into the log, as from a process of its own
            traceback.print_exc()
            return 1


def chosen_data(arguments: argparse.Namespace, grid: Grid) -> dict[str, str]:
    """Dataset -> folder, for every dataset of the grid that is not drawn."""
    from recoseg.experiments.columns import COLUMNS, DRAWN

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
    from recoseg.experiments.columns import COLUMNS

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
