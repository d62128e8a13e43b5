"""The table that is shown while a grid is done: scores of finished runs, how far the others are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import mean

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from recoseg.experiments.board import Board
from recoseg.experiments.cells import Cell
from recoseg.experiments.methods import ROWS
from recoseg.train.progress import clock
from recoseg.words import printable

ABOUT_LINES = 7
"""Lines of a terminal that are not for runs: title, heading, summary, and what is between them."""

STOPPING = "stopping: runs save their states; Ctrl-C again ends them at once"


@contextmanager
def shown_live(console: Console, title: str, workers: int) -> Iterator[Callable[[Board], None]]:
    """What to call with the board after every look: a table on a terminal, else a line for each change."""
    if not console.is_terminal:
        yield Lines(console, workers).show
        return
    with Live(console=console, refresh_per_second=2, transient=True) as live:
        yield lambda board: live.update(
            board_view(board, title, workers, room=console.size.height - ABOUT_LINES)
        )


class Lines:
    """One line for every run that begins, ends or fails."""

    def __init__(self, console: Console, workers: int) -> None:
        self.console, self.workers = console, workers
        self.said: dict[str, str] = {}
        self.said_stopping = False

    def show(self, board: Board) -> None:
        if board.stopping and not self.said_stopping:
            self.said_stopping = True
            self.say(STOPPING)
        for cell in board.cells:
            kind = "failed" if cell.folder in board.failures else board.states[cell.folder].kind
            before = self.said.get(cell.name)
            self.said[cell.name] = kind
            if kind != before and (before is not None or kind in ("running", "failed")):
                self.say(self.line(board, cell, kind))

    def say(self, text: str) -> None:
        self.console.print(printable(text), highlight=False, markup=False, soft_wrap=True)

    def line(self, board: Board, cell: Cell, kind: str) -> str:
        state = board.states[cell.folder]
        if kind == "failed":
            return f"failed: {board.failures[cell.folder]}"
        if state.result is not None:
            score = f"mean IoU {100 * state.result.mean_iou:.1f} %, trained in {clock(state.seconds)}"
            return f"{cell.name}: {score}; {summary(board, self.workers)}"
        words = {"running": "is trained", "trained": "is scored", "begun": "has stopped"}
        return f"{cell.name}: {words.get(kind, kind)}, {state.iteration} of {cell.iterations} iterations done"


def summary(board: Board, workers: int) -> str:
    if board.stopping and board.submitted:
        return STOPPING
    left = board.seconds_left(workers)
    parts = [f"{board.count('done')} of {len(board.states)} runs done"]
    if board.failures:
        parts.append(f"{len(board.failures)} failed")
    if left:
        parts.append(f"about {clock(left)} left")
    return ", ".join(parts)


def board_view(board: Board, title: str, workers: int = 1, *, room: int | None = None) -> Group:
    """Title, table and summary, in `room` lines for runs if they must fit."""
    heading = Text(title, no_wrap=True, overflow="ellipsis", style="bold")
    return Group(heading, board_table(board, room=room), Text(summary(board, workers)))


def board_table(board: Board, *, room: int | None = None) -> Table:
    """A line for each row and column, a place for each seed; without room for all, those that are at work."""
    seeds = sorted({cell.seed for cell in board.cells})
    columns = {cell.column for cell in board.cells}
    lines = lines_of(board.cells)
    if room is not None and len(lines) > room:
        lines = most_telling(board, lines, max(room, 1))
    table = Table("method", *(f"seed {seed}" for seed in seeds), "mean", box=SIMPLE_HEAD)
    if len(columns) > 1:
        table.columns[0].header = "column, method"
    for heading in table.columns[1:]:
        heading.justify, heading.no_wrap = "right", True
    for line in lines:
        scores = [result.mean_iou for cell in line if (result := board.states[cell.folder].result)]
        name = (f"{line[0].column}, " if len(columns) > 1 else "") + ROWS[line[0].row].title
        by_seed = {cell.seed: place(board, cell) for cell in line}
        average = f"{100 * mean(scores):.1f}" if scores else ""
        table.add_row(name, *(by_seed.get(seed, "") for seed in seeds), average)
    return table


def lines_of(cells: Sequence[Cell]) -> list[list[Cell]]:
    """The seeds of each (column, row)."""
    lines: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        lines.setdefault((cell.column, cell.row), []).append(cell)
    return list(lines.values())


def most_telling(board: Board, lines: list[list[Cell]], room: int) -> list[list[Cell]]:
    """As many lines as there is room for, in their order: of those at work, then failed, then others."""

    def rank(line: list[Cell]) -> int:
        if any(board.states[cell.folder].kind in ("running", "trained") for cell in line):
            return 0
        if any(cell.folder in board.failures for cell in line):
            return 1
        return 2 if any(board.states[cell.folder].kind != "done" for cell in line) else 3

    chosen = sorted(range(len(lines)), key=lambda number: rank(lines[number]))[:room]
    return [lines[number] for number in sorted(chosen)]


def place(board: Board, cell: Cell) -> Text:
    """A score, or how far it is."""
    state = board.states[cell.folder]
    if state.result is not None:
        return Text(f"{100 * state.result.mean_iou:.1f}")
    if cell.folder in board.failures or state.kind == "damaged":
        return Text("failed" if cell.folder in board.failures else "damaged", style="red")
    if state.kind == "running":
        return Text(f"{100 * state.iteration // max(state.iterations, 1)} %", style="cyan")
    if state.kind == "begun":
        return Text(f"at {100 * state.iteration // state.iterations} %", style="dim")
    return Text({"trained": "trained", "new": "-", "other": "other run"}[state.kind], style="dim")
