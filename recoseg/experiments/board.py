"""What is known of the cells of a grid while they are being done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

from recoseg.errors import UserError
from recoseg.experiments.cells import Cell
from recoseg.experiments.columns import COLUMNS
from recoseg.experiments.execute import CellInUseError, CellStoppedError
from recoseg.experiments.results import Result
from recoseg.experiments.states import CellState, state_of

Kind = tuple[str, str]
"""A dataset and a row: runs of one kind take the same time."""


def kind_of(run: Cell | Result) -> Kind:
    return COLUMNS[run.column].dataset, run.owner if isinstance(run, Cell) else run.row


@dataclass
class Board:
    """`states` are as of the last look at a run folder; failures are those of this time."""

    cells: Sequence[Cell]
    states: dict[Path, CellState] = field(default_factory=dict)  # by run folder, which rows may share
    failures: dict[Path, str] = field(default_factory=dict)
    submitted: set[Path] = field(default_factory=set)
    stopping: bool = False

    def look(self, cells: Iterable[Cell] | None = None) -> None:
        """Read how far cells are: all of them, or some."""
        for cell in self.cells if cells is None else cells:
            self.states[cell.folder] = state_of(cell)

    def look_at_running(self) -> None:
        self.look(cell for cell in self.unfinished() if cell.folder in self.submitted)

    def unfinished(self) -> list[Cell]:
        """One cell for each run that is not done, in the order they are to be done."""
        left = {cell.folder: cell for cell in self.cells if self.states[cell.folder].kind != "done"}
        return list(left.values())

    def put(self, cell: Cell, outcome: Result | Exception) -> None:
        self.submitted.discard(cell.folder)
        if isinstance(outcome, Result):  # shared storage may show it a little later
            self.states[cell.folder] = CellState.of_result(outcome)
            return
        self.look([cell])
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

    def known_seconds(self) -> dict[Kind, float]:
        """How long runs take: the mean of those that are done, or else by the pace of those at work."""
        seconds: dict[Kind, list[float]] = {}
        for result in self.results():
            seconds.setdefault(kind_of(result), []).append(result.seconds)
        known = {kind: mean(values) for kind, values in seconds.items()}
        for cell in self.unfinished():
            state = self.states[cell.folder]
            if state.iteration and state.seconds:
                known.setdefault(kind_of(cell), state.seconds / state.iteration * state.iterations)
        return known

    def seconds_left(self, workers: int, known: Mapping[Kind, float] | None = None) -> float | None:
        """For so many at a time; a kind that is not known takes the mean of the others, if there are some."""
        known = self.known_seconds() if known is None else known
        if not known:
            return None
        left = [
            self.states[cell.folder].share_left * known.get(kind_of(cell), mean(known.values()))
            for cell in self.unfinished()
            if cell.folder not in self.failures and self.states[cell.folder].kind not in ("other", "damaged")
        ]
        return max([sum(left) / workers, *left])  # the longest takes its time, however many there are
