"""What is left of a grid, by a person's arithmetic."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from recoseg.experiments.plan.cells import cells_of
from recoseg.experiments.plan.grids import GRIDS, Grid
from recoseg.experiments.plan.profiles import load_profile
from recoseg.experiments.running.board import Board, ProgressLines, board_view, live_display
from recoseg.experiments.running.execute import CellError, CellInUseError, CellState, CellStoppedError


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


def shown(what: object) -> list[str]:
    console = Console(width=80, color_system=None)
    with console.capture() as capture:
        console.print(what)
    return [line.rstrip() for line in capture.get().splitlines()]


@pytest.fixture
def mixed(result_of) -> Board:
    """Three methods and two seeds: one of each state."""
    made = Board(cells_of(GRIDS["scenes"], load_profile("tiny"), seeds=(0, 1), out=Path("nowhere")))
    done = result_of("supervised", "scenes-10", 0, 40.25, seconds=100.0)
    states = [
        CellState("done", 300, 300, 100.0, done), CellState("running", 130, 300), CellState("new"),
        CellState("begun", 150, 300), CellState("trained", 300, 300), CellState("other"),
    ]  # fmt: skip
    made.states = {cell.folder: state for cell, state in zip(made.cells, states, strict=True)}
    made.failures = {made.cells[2].folder: "scenes-10/reco-classmix/seed-0: no [disk] space"}
    return made


def test_the_table_has_scores_and_how_far_the_others_are(mixed) -> None:
    assert shown(board_view(mixed, "A title", 2)) == [
        "A title",
        "",
        "  method            seed 0      seed 1   mean",
        " ─────────────────────────────────────────────",
        "  Supervised          40.2     at 50 %   40.2",
        "  ClassMix            43 %     trained",
        "  ReCo + ClassMix   failed   other run",
        "",
        # 100 s a run: half of one and 170 of 300 steps of another, side by side
        "1 of 6 runs done, 1 failed, about 0:57 left",
    ]


def test_a_grid_with_more_lines_than_the_terminal_shows_those_at_work() -> None:
    made = Board(cells_of(GRIDS["full-labels"], load_profile("paper"), seeds=(0, 1, 2), out=Path("nowhere")))
    for cell in made.cells:
        at_work = (cell.column, cell.row) in (("sun-500", "cutmix"), ("voc-60", "s4gan"))
        made.states[cell.folder] = CellState("running" if at_work and cell.seed == 1 else "new", 50, 100)
    lines = shown(board_view(made, "A title that is too long " * 9, room=3))
    assert len(lines) == 3 + 6
    assert lines[4].split() == ["voc-60,", "Supervised", "-", "-", "-"]
    assert lines[5].split() == ["voc-60,", "S4GAN", "-", "50", "%", "-"]
    assert lines[6].split() == ["sun-500,", "CutMix", "-", "50", "%", "-"]
    assert max(map(len, lines)) <= 80
    assert lines[0].endswith("…")


def test_where_there_is_no_terminal_every_change_is_a_line(mixed, result_of) -> None:
    console = Console(width=80, color_system=None, force_terminal=False)
    first, second, third, fourth, *_ = (cell.folder for cell in mixed.cells)
    mixed.failures = {}
    with console.capture() as capture, live_display(console, "A title", 1) as show:
        mixed.states |= {first: CellState("new"), second: CellState("new"), third: CellState("new")}
        show(mixed)
        show(mixed)
        mixed.states[first] = CellState("running", 30, 300)
        show(mixed)
        mixed.states[first] = CellState("running", 60, 300)
        show(mixed)
        done = result_of("supervised", "scenes-10", 0, 40.25, seconds=100.0)
        mixed.states[first] = CellState("done", 300, 300, 100.0, done)
        mixed.failures[third] = "a reason with [brackets]"
        mixed.states[fourth] = CellState("running", 150, 300)
        show(mixed)
        mixed.stopping = True
        mixed.states[fourth] = CellState("begun", 170, 300)
        show(mixed)
        show(mixed)
    assert capture.get().splitlines() == [
        "scenes-10/supervised/seed-0: is trained, 30 of 300 iterations done",
        "scenes-10/supervised/seed-0: mean IoU 40.2 %, trained in 1:40; "
        "1 of 6 runs done, 1 failed, about 2:30 left",  # a whole run and half a one
        "failed: a reason with [brackets]",
        "scenes-10/supervised/seed-1: is trained, 150 of 300 iterations done",
        "stopping: runs save their states; Ctrl-C again ends them at once",
        "scenes-10/supervised/seed-1: has stopped, 170 of 300 iterations done",
    ]


def test_what_was_done_before_is_no_line(mixed) -> None:
    console = Console(width=80, color_system=None, force_terminal=False)
    mixed.failures = {}
    with console.capture() as capture:
        ProgressLines(console, 1).show(mixed)
    assert [line.partition(":")[0] for line in capture.get().splitlines()] == ["scenes-10/classmix/seed-0"]


def test_while_it_stops_the_summary_says_so(mixed) -> None:
    mixed.stopping = True
    mixed.submitted = {mixed.cells[1].folder}
    assert shown(board_view(mixed, ""))[-1].startswith("stopping: runs save their states")
    mixed.submitted = set()
    assert shown(board_view(mixed, ""))[-1].startswith("1 of 6 runs done")
