"""The loop that hands cells to workers, and shows how they get on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from recoseg.experiments.board import Board
from recoseg.experiments.cells import Cell
from recoseg.experiments.execute import CellInUseError
from recoseg.experiments.results import Result
from recoseg.train.interrupt import Interrupted, StopRequest

SECONDS_BETWEEN_LOOKS = 1.0


class Workers(Protocol):
    """What does cells: processes of this machine, or a cluster."""

    count: int

    def submit(self, cell: Cell) -> None: ...

    def finished(self, seconds: float) -> list[tuple[Cell, Result | Exception]]: ...

    def stop(self) -> None: ...

    def close(self) -> None: ...


def run_cells(board: Board, workers: Workers, show: Callable[[Board], None]) -> None:
    """Do all cells that are not done. Ctrl-C or SIGTERM lets runs save their states and leaves the rest."""
    try:
        with StopRequest() as stop:
            for cell in board.unfinished():
                workers.submit(cell)
                board.submitted.add(cell.folder)
            while board.submitted:
                for cell, outcome in workers.finished(SECONDS_BETWEEN_LOOKS):
                    if isinstance(outcome, CellInUseError) and not board.stopping:
                        workers.submit(cell)  # after those that wait: the other process may have ended then
                    else:
                        board.put(cell, outcome)
                if stop.requested and not board.stopping:
                    board.stopping = True
                    workers.stop()
                board.look_at_running()
                show(board)
        if stop.requested:
            raise Interrupted("stopped, with states saved; the same command goes on")
    finally:
        workers.close()
