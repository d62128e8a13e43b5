"""What is known of the cells of a grid while they are being done, and the table that shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from recoseg.errors import UserError
from recoseg.experiments.plan.cells import Cell
from recoseg.experiments.plan.grids import COLUMNS, ROWS
from recoseg.experiments.running.execute import CellInUseError, CellState, CellStoppedError, state_of
from recoseg.experiments.tables.results import Result
from recoseg.text import clock, hundredths, percent, printable

_DatasetAndRow = tuple[str, str]
"""Runs that have both in common take the same time."""


def dataset_and_row(run: Cell | Result) -> _DatasetAndRow:
    return COLUMNS[run.column].dataset, run.owner if isinstance(run, Cell) else run.row


@dataclass
class Board:
    """`states` are as of the last look at a run folder; failures are those of this time."""

    cells: Sequence[Cell]
    states: dict[Path, CellState] = field(default_factory=dict)  # by run folder, which rows may share
    failures: dict[Path, str] = field(default_factory=dict)
    submitted: set[Path] = field(default_factory=set)
    stopping: bool = False

    def refresh(self, cells: Iterable[Cell] | None = None) -> None:
        """Read how far cells are: all of them, or some."""
        for cell in self.cells if cells is None else cells:
            self.states[cell.folder] = state_of(cell)

    def refresh_running(self) -> None:
        self.refresh(cell for cell in self.unfinished() if cell.folder in self.submitted)

    def unfinished(self) -> list[Cell]:
        """One cell for each run that is not done, in the order they are to be done."""
        left = {cell.folder: cell for cell in self.cells if self.states[cell.folder].kind != "done"}
        return list(left.values())

    def put(self, cell: Cell, outcome: Result | Exception) -> None:
        self.submitted.discard(cell.folder)
        if isinstance(outcome, Result):  # shared storage may show it a little later
            self.states[cell.folder] = CellState.of_result(outcome)
            return
        self.refresh([cell])
        if not isinstance(outcome, CellStoppedError | CellInUseError):
            self.failures[cell.folder] = f"{cell.name}: {str(outcome) or type(outcome).__name__}"

    def results(self) -> list[Result]:
        return [state.result for state in self.states.values() if state.result]

    def troubles(self) -> list[UserError]:
        """What cannot be read, one for each run."""
        cells = {cell.folder: cell for cell in self.cells if self.states[cell.folder].trouble}
        return [UserError(f"{cell.name}: {self.states[folder].trouble}") for folder, cell in cells.items()]

    def count(self, kind: str) -> int:
        return sum(state.kind == kind for state in self.states.values())

    def known_seconds(self) -> dict[_DatasetAndRow, float]:
        """How long runs take: the mean of those that are done, or else by the pace of those at work."""
        seconds: dict[_DatasetAndRow, list[float]] = {}
        for result in self.results():
            seconds.setdefault(dataset_and_row(result), []).append(result.seconds)
        known = {kind: mean(values) for kind, values in seconds.items()}
        for cell in self.unfinished():
            state = self.states[cell.folder]
            if state.iteration and state.seconds:
                known.setdefault(dataset_and_row(cell), state.seconds / state.iteration * state.iterations)
        return known

    def seconds_left(self, workers: int, known: Mapping[_DatasetAndRow, float] | None = None) -> float | None:
        """For so many at a time; a kind that is not known takes the mean of the others, if there are some."""
        known = self.known_seconds() if known is None else known
        if not known:
            return None
        left = [
            self.states[cell.folder].share_left * known.get(dataset_and_row(cell), mean(known.values()))
            for cell in self.unfinished()
            if cell.folder not in self.failures and self.states[cell.folder].kind not in ("other", "damaged")
        ]
        return max([sum(left) / workers, *left])  # the longest takes its time, however many there are


# What is shown of it.

_ABOUT_LINES = 7
"""Lines of a terminal that are not for runs: title, heading, summary, and what is between them."""

_STOPPING = "stopping: runs save their states; Ctrl-C again ends them at once"


@contextmanager
def live_display(console: Console, title: str, workers: int) -> Iterator[Callable[[Board], None]]:
    """What to call with the board after every look: a table on a terminal, else a line for each change."""
    if not console.is_terminal:
        yield ProgressLines(console, workers).show
        return
    with Live(console=console, refresh_per_second=2, transient=True) as live:
        yield lambda board: live.update(
            board_view(board, title, workers, room=console.size.height - _ABOUT_LINES)
        )


class ProgressLines:
    """One line for every run that begins, ends or fails."""

    def __init__(self, console: Console, workers: int) -> None:
        self.console, self.workers = console, workers
        self.said: dict[str, str] = {}
        self.said_stopping = False

    def show(self, board: Board) -> None:
        if board.stopping and not self.said_stopping:
            self.said_stopping = True
            self.say(_STOPPING)
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
            score = f"mean IoU {percent(state.result.mean_iou, sign=' %')}, trained in {clock(state.seconds)}"
            return f"{cell.name}: {score}; {_summary(board, self.workers)}"
        words = {"running": "is trained", "trained": "is scored", "begun": "has stopped"}
        return f"{cell.name}: {words.get(kind, kind)}, {state.iteration} of {cell.iterations} iterations done"


def _summary(board: Board, workers: int) -> str:
    if board.stopping and board.submitted:
        return _STOPPING
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
    return Group(heading, _board_table(board, room=room), Text(_summary(board, workers)))


def _board_table(board: Board, *, room: int | None = None) -> Table:
    """A line for each row and column, a place for each seed; without room for all, those that are at work."""
    seeds = sorted({cell.seed for cell in board.cells})
    columns = {cell.column for cell in board.cells}
    lines = _lines_of(board.cells)
    if room is not None and len(lines) > room:
        lines = _most_telling(board, lines, max(room, 1))
    table = Table("method", *(f"seed {seed}" for seed in seeds), "mean", box=SIMPLE_HEAD)
    if len(columns) > 1:
        table.columns[0].header = "column, method"
    for heading in table.columns[1:]:
        heading.justify, heading.no_wrap = "right", True
    for line in lines:
        scores = [result.mean_iou for cell in line if (result := board.states[cell.folder].result)]
        name = (f"{line[0].column}, " if len(columns) > 1 else "") + ROWS[line[0].row].title
        by_seed = {cell.seed: _cell_text(board, cell) for cell in line}
        average = hundredths(mean(scores)) if scores else ""
        table.add_row(name, *(by_seed.get(seed, "") for seed in seeds), average)
    return table


def _lines_of(cells: Sequence[Cell]) -> list[list[Cell]]:
    """The seeds of each (column, row)."""
    lines: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        lines.setdefault((cell.column, cell.row), []).append(cell)
    return list(lines.values())


def _most_telling(board: Board, lines: list[list[Cell]], room: int) -> list[list[Cell]]:
    """As many lines as there is room for, in their order: of those at work, then failed, then others."""

    def rank(line: list[Cell]) -> int:
        if any(board.states[cell.folder].kind in ("running", "trained") for cell in line):
            return 0
        if any(cell.folder in board.failures for cell in line):
            return 1
        return 2 if any(board.states[cell.folder].kind != "done" for cell in line) else 3

    chosen = sorted(range(len(lines)), key=lambda number: rank(lines[number]))[:room]
    return [lines[number] for number in sorted(chosen)]


def _cell_text(board: Board, cell: Cell) -> Text:
    """A score, or how far it is."""
    state = board.states[cell.folder]
    if state.result is not None:
        return Text(hundredths(state.result.mean_iou))
    if cell.folder in board.failures or state.kind == "damaged":
        return Text("failed" if cell.folder in board.failures else "damaged", style="red")
    if state.kind == "running":
        return Text(f"{100 * state.iteration // max(state.iterations, 1)} %", style="cyan")
    if state.kind == "begun":
        return Text(f"at {100 * state.iteration // state.iterations} %", style="dim")
    return Text({"trained": "trained", "new": "-", "other": "other run"}[state.kind], style="dim")
