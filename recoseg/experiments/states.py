"""How far a cell is, read from its folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from recoseg.config.load import load
from recoseg.errors import UserError
from recoseg.experiments.cell_settings import comparable, differing
from recoseg.experiments.cells import Cell
from recoseg.experiments.results import FILE, Result, load_result
from recoseg.train.run_folder import RunFolder


@dataclass(frozen=True)
class CellState:
    """`kind` is new, begun, running, trained (but not scored) or done.

    Or it is other: a run with other settings; or damaged: its files cannot be read.
    """

    kind: str
    iteration: int = 0
    iterations: int = 0
    seconds: float = 0.0  # of training, so far
    result: Result | None = None
    differences: tuple[str, ...] = ()  # settings, where they are other ones
    trouble: str = ""  # what is damaged, in a line

    @classmethod
    def of_result(cls, result: Result) -> CellState:
        return cls("done", result.iterations, result.iterations, result.seconds, result)

    @property
    def share_left(self) -> float:
        return 1 - self.iteration / self.iterations if self.iterations else 1.0


def state_of(cell: Cell) -> CellState:
    """One damaged run shall not hide the others: it is a state like any other."""
    try:
        return state_read(cell)
    except UserError as error:
        return CellState("damaged", trouble=str(error))


def state_read(cell: Cell) -> CellState:
    folder = RunFolder(cell.folder)
    if not folder.is_run():
        return CellState("running" if folder.is_in_use() else "new", iterations=cell.iterations)
    settings = settings_in(folder.config, folder.config.stat().st_mtime_ns)
    if differences := differing(settings, cell.settings()):
        return CellState("other", differences=differences)
    if (cell.folder / FILE).exists():
        return CellState.of_result(result_in(cell))
    losses = folder.read_losses()
    done = max((line["iteration"] for line in losses), default=0)
    is_trained = ends_at(folder, cell.iterations)
    kind = "running" if folder.is_in_use() else "trained" if is_trained else "begun"
    return CellState(kind, done, cell.iterations, training_seconds(losses))


def result_in(cell: Cell) -> Result:
    """The result in the folder of a cell, which must be its own."""
    path = cell.folder / FILE
    result = load_result(path)
    for name, found, wanted in zip(
        ("profile", "column", "row", "seed"), result.place, cell.place, strict=True
    ):
        if found != wanted:
            raise UserError(f"{path} is of {name} {found}, not {wanted}: delete it, or bring its own back")
    return result


@cache
def settings_in(path: Path, changed: int) -> dict[str, object]:
    """Kept as long as the file stays as it is: runs are looked at every few seconds."""
    return comparable(load(path))


def ends_at(folder: RunFolder, iterations: int) -> bool:
    """Whether the last evaluation is of the last iteration; weights were saved before it was logged."""
    metrics = folder.read_metrics()
    return bool(metrics) and metrics[-1]["iteration"] == iterations and folder.weights.is_file()


def training_seconds(losses: Sequence[dict[str, Any]]) -> float:
    """Of all processes that wrote the log, whose clocks each began at 0."""
    seconds: list[float] = [line["seconds"] for line in losses]
    return sum(now for now, after in pairwise([*seconds, 0.0]) if after < now)
