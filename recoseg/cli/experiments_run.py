"""The command `recoseg experiments run`: what is not done yet of a grid, or how long that would take."""

from __future__ import annotations

import argparse
import traceback
from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from recoseg.cli.arguments import require_workers
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
from recoseg.errors import UserError
from recoseg.text import printable

if TYPE_CHECKING:
    from rich.console import Console

    from recoseg.experiments.plan.cells import Cell
    from recoseg.experiments.plan.profiles import Profile
    from recoseg.experiments.running.board import Board
    from recoseg.experiments.running.workers import Workers


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
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


def run_grid(arguments: argparse.Namespace) -> int:
    """Run what is not done yet of a grid, and show its scores as they come.

    Every run is an ordinary run folder, RUNS/PROFILE/COLUMN/ROW/seed-N. Finished ones are skipped, those that
    ended early are resumed: after Ctrl-C, or a crash, the same command goes on.
    """
    from recoseg.cli.terminal import new_console
    from recoseg.experiments.running.board import Board

    grid = chosen_grid(arguments)
    if arguments.workers is not None:
        require_workers(arguments.workers)
    if arguments.dry_run and arguments.ray:
        raise UserError("--dry-run times steps on this machine: leave out --ray")
    board = Board(chosen_cells(arguments, chosen_data(arguments, grid), chosen_lists(arguments, grid)))
    board.refresh()
    _require_trusted(board.unfinished(), chosen_profile(arguments))
    console = new_console()
    if arguments.dry_run:
        return _tell_times(board, workers=arguments.workers or 1, console=console)
    return _run_left(board, arguments, grid.title, console)


def _require_trusted(cells: Sequence[Cell], profile: Profile) -> None:
    """Runs are scored by commands of their own, which would refuse it when they are trained."""
    from recoseg.experiments.plan.grids import COLUMNS
    from recoseg.runs.run import require_trust

    for cell in cells:
        require_trust(cell.config, profile.config(COLUMNS[cell.column].dataset), trust=cell.trust)


def _run_left(board: Board, arguments: argparse.Namespace, title: str, console: Console) -> int:
    from recoseg.experiments.running.board import board_view, live_display
    from recoseg.experiments.running.workers import run_cells

    title = f"{title}; profile {board.cells[0].profile}"
    if board.unfinished():
        workers = _chosen_workers(arguments)
        try:
            with live_display(console, title, workers.count) as show:
                run_cells(board, workers, show)
        finally:
            console.print(board_view(board, title, workers.count))
    else:
        console.print(board_view(board, title))
    for failure in board.failures.values():
        console.print(printable(f"failed: {failure}"), soft_wrap=True)
    return 1 if board.failures else 0


def _chosen_workers(arguments: argparse.Namespace) -> Workers:
    if arguments.ray is None:
        from recoseg.experiments.running.workers import LocalWorkers

        return LocalWorkers(arguments.workers or 1)
    from recoseg.experiments.running.on_ray import RayWorkers

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


def _tell_times(board: Board, *, workers: int, console: Console) -> int:
    """How many runs are left, and how long they take, from a few timed steps of each method.

    The time of a method that has finished runs is theirs.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from recoseg.experiments.plan.grids import ROWS
    from recoseg.experiments.running.board import dataset_and_row
    from recoseg.experiments.running.timing import probe
    from recoseg.experiments.running.workers import threads_each
    from recoseg.text import clock

    left, threads = board.unfinished(), threads_each(workers)
    profile = board.cells[0].profile
    console.print(
        f"{len(board.states)} runs of profile {profile}, {board.count('done')} done, {len(left)} left"
    )
    if not left:
        return 0
    troubles = board.troubles()
    left = [cell for cell in left if not board.states[cell.folder].trouble]
    left_of = Counter(dataset_and_row(cell) for cell in left)
    known = board.known_seconds()
    table = Table("method", "dataset", "left", "a step", "a run", box=SIMPLE_HEAD)
    for heading in table.columns[2:]:
        heading.justify = "right"
    for (dataset, row), count in left_of.items():
        step = "as before"
        if (dataset, row) not in known:
            cell = next(cell for cell in left if dataset_and_row(cell) == (dataset, row))
            with console.status(f"timing {ROWS[row].title} on {dataset}"):
                pace = probe(cell, threads=threads)
            step, known[dataset, row] = f"{pace.step:.2f} s", pace.seconds
        table.add_row(ROWS[row].title, dataset, str(count), step, clock(known[dataset, row]))
    console.print(table)
    each = f"{threads} thread{'s' if threads > 1 else ''} each"
    at_once = "one at a time" if workers == 1 else f"{workers} at a time"
    console.print(f"about {clock(board.seconds_left(workers, known) or 0.0)} in all, {at_once}, {each}")
    return tell_troubles(troubles)
