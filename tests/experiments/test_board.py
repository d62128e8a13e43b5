"""What is left of a grid, by a person's arithmetic."""

from __future__ import annotations

from pathlib import Path

import pytest

from recoseg.experiments.board import Board
from recoseg.experiments.cells import cells_of
from recoseg.experiments.execute import CellError, CellInUseError, CellStoppedError
from recoseg.experiments.grids import GRIDS, Grid
from recoseg.experiments.profiles import load_profile
from recoseg.experiments.states import CellState


@pytest.fixture
def board(result_of):
    """`board({("classmix", 0): 60.0, ...})`: seconds of what is done, or a state; the rest is new."""

    def make(known, *, grid: Grid = GRIDS["scenes"], profile: str = "tiny", seeds=(0, 1)) -> Board:
        made = Board(cells_of(grid, load_profile(profile), seeds=seeds, out=Path("nowhere")))
        for cell in made.cells:
            state = known.get((cell.row, cell.seed), CellState("new"))
            if not isinstance(state, CellState):
                result = result_of(cell.owner, cell.column, cell.seed, 40.0, seconds=state)
                state = CellState("done", 300, 300, state, result)
            made.states[cell.folder] = state
        return made

    return make


def test_nothing_is_known_at_the_start(board) -> None:
    assert board({}).seconds_left(1) is None


def test_a_method_takes_as_long_as_before_and_an_unknown_one_as_the_mean_of_the_others(board) -> None:
    made = board({("supervised", 0): 60.0, ("classmix", 0): 120.0})
    # supervised 60 and classmix 120 once more, reco-classmix 90 twice
    assert made.seconds_left(1) == pytest.approx(60 + 120 + 90 + 90)
    assert made.seconds_left(2) == pytest.approx(180)
    assert made.seconds_left(100) == pytest.approx(120)  # never less than the longest


def test_of_a_run_that_is_begun_only_the_rest_is_left(board) -> None:
    begun = CellState("begun", 75, 300, 1000.0)
    made = board({("supervised", 0): 60.0, ("supervised", 1): begun}, seeds=(0, 1))
    made.cells = [cell for cell in made.cells if cell.row == "supervised"]
    assert made.seconds_left(1) == pytest.approx(0.75 * 60)  # finished runs are trusted more than its pace


def test_without_finished_runs_the_pace_of_those_at_work_counts(board) -> None:
    made = board({("supervised", 0): CellState("running", 100, 300, 50.0)}, seeds=(0,))
    assert made.known_seconds() == {("scenes", "supervised"): 150.0}
    assert made.seconds_left(1) == pytest.approx(100 + 150 + 150)


def test_what_has_failed_is_not_left(board) -> None:
    made = board({("supervised", 0): 60.0}, seeds=(0,))
    failed = next(cell for cell in made.cells if cell.row == "classmix")
    made.failures[failed.folder] = "a reason"
    assert made.seconds_left(1) == pytest.approx(60)


def test_rows_that_share_a_run_count_it_once(board) -> None:
    grid = Grid("", (("reco-classmix", "cityscapes-20"), ("queries-256", "cityscapes-20")), None)
    made = board({}, grid=grid, profile="paper", seeds=(0,))
    assert len(made.cells) == 2
    assert len(made.unfinished()) == len(made.states) == 1


def test_a_result_counts_before_its_file_is_seen(board, result_of) -> None:
    """As over a network, where the file may be seen later."""
    made = board({}, seeds=(0,))
    cell = made.cells[0]
    made.put(cell, result_of(cell.row, cell.column, 0, 40.0))
    assert made.count("done") == len(made.results()) == 1


def test_a_run_of_another_process_has_not_failed(board) -> None:
    made = board({}, seeds=(0,))
    made.put(made.cells[0], CellInUseError())
    assert made.failures == {}


def test_an_interrupted_run_has_not_failed(board) -> None:
    made = board({}, seeds=(0,))
    first, second, third = made.cells
    made.submitted = {cell.folder for cell in made.cells}
    made.put(first, CellStoppedError())
    made.put(second, CellError("a reason"))
    made.put(third, ZeroDivisionError())
    assert made.failures == {
        second.folder: "scenes-10/classmix/seed-0: a reason",
        third.folder: "scenes-10/reco-classmix/seed-0: ZeroDivisionError",
    }
    assert made.submitted == set()
