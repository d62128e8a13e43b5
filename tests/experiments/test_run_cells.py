"""The loop that hands out cells, with workers that only pretend."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from recoseg.experiments.board import Board
from recoseg.experiments.cells import cells_of
from recoseg.experiments.execute import CellInUseError
from recoseg.experiments.grids import GRIDS
from recoseg.experiments.profiles import load_profile
from recoseg.experiments.run_cells import run_cells
from recoseg.experiments.states import CellState
from recoseg.train.interrupt import Interrupted


class PretendedWorkers:
    """One cell at a time, in the order they came; those of `in_use` are another process's so many times."""

    count = 1

    def __init__(self, result_of, in_use: dict[str, int]) -> None:
        self.result_of, self.in_use = result_of, in_use
        self.waiting, self.tried, self.closed = [], [], False

    def submit(self, cell) -> None:
        self.waiting.append(cell)

    def finished(self, seconds: float):
        cell = self.waiting.pop(0)
        self.tried.append(cell.row)
        self.in_use[cell.row] = self.in_use.get(cell.row, 0) - 1
        if self.in_use[cell.row] >= 0:
            return [(cell, CellInUseError())]
        return [(cell, self.result_of(cell.row, cell.column, cell.seed, 40.0))]

    def stop(self) -> None:
        self.waiting = self.waiting[:1]

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def board() -> Board:
    made = Board(cells_of(GRIDS["scenes"], load_profile("tiny"), seeds=(0,), out=Path("nowhere")))
    made.states = {cell.folder: CellState("new") for cell in made.cells}
    return made


def test_a_run_of_another_process_is_tried_again_after_the_others(board, result_of) -> None:
    workers = PretendedWorkers(result_of, in_use={"supervised": 2})
    run_cells(board, workers, lambda _: None)
    assert workers.tried == ["supervised", "classmix", "reco-classmix", "supervised", "supervised"]
    assert board.count("done") == 3
    assert (board.failures, workers.closed) == ({}, True)


def test_a_run_of_another_process_is_not_waited_for_when_asked_to_stop(board, result_of) -> None:
    workers = PretendedWorkers(result_of, in_use={"supervised": 99})
    board.cells = board.cells[:1]

    def show(_: Board) -> None:
        if len(workers.tried) == 3:
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(Interrupted, match="stopped, with states saved"):
        run_cells(board, workers, show)
    assert workers.tried == ["supervised"] * 5  # at 4 it was put back before anybody looked
    assert board.failures == {}
