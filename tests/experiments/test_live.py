"""What is shown while a grid is done, on a terminal of 80 columns and elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from recoseg.experiments.board import Board
from recoseg.experiments.cells import cells_of
from recoseg.experiments.grids import GRIDS
from recoseg.experiments.live import Lines, board_view, shown_live
from recoseg.experiments.profiles import load_profile
from recoseg.experiments.states import CellState


def shown(what: object) -> list[str]:
    console = Console(width=80, color_system=None)
    with console.capture() as capture:
        console.print(what)
    return [line.rstrip() for line in capture.get().splitlines()]


@pytest.fixture
def board(result_of) -> Board:
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


def test_the_table_has_scores_and_how_far_the_others_are(board) -> None:
    assert shown(board_view(board, "A title", 2)) == [
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


def test_where_there_is_no_terminal_every_change_is_a_line(board, result_of) -> None:
    console = Console(width=80, color_system=None, force_terminal=False)
    first, second, third, fourth, *_ = (cell.folder for cell in board.cells)
    board.failures = {}
    with console.capture() as capture, shown_live(console, "A title", 1) as show:
        board.states |= {first: CellState("new"), second: CellState("new"), third: CellState("new")}
        show(board)
        show(board)
        board.states[first] = CellState("running", 30, 300)
        show(board)
        board.states[first] = CellState("running", 60, 300)
        show(board)
        done = result_of("supervised", "scenes-10", 0, 40.25, seconds=100.0)
        board.states[first] = CellState("done", 300, 300, 100.0, done)
        board.failures[third] = "a reason with [brackets]"
        board.states[fourth] = CellState("running", 150, 300)
        show(board)
        board.stopping = True
        board.states[fourth] = CellState("begun", 170, 300)
        show(board)
        show(board)
    assert capture.get().splitlines() == [
        "scenes-10/supervised/seed-0: is trained, 30 of 300 iterations done",
        "scenes-10/supervised/seed-0: mean IoU 40.2 %, trained in 1:40; "
        "1 of 6 runs done, 1 failed, about 2:30 left",  # a whole run and half a one
        "failed: a reason with [brackets]",
        "scenes-10/supervised/seed-1: is trained, 150 of 300 iterations done",
        "stopping: runs save their states; Ctrl-C again ends them at once",
        "scenes-10/supervised/seed-1: has stopped, 170 of 300 iterations done",
    ]


def test_what_was_done_before_is_no_line(board) -> None:
    console = Console(width=80, color_system=None, force_terminal=False)
    board.failures = {}
    with console.capture() as capture:
        Lines(console, 1).show(board)
    assert [line.partition(":")[0] for line in capture.get().splitlines()] == ["scenes-10/classmix/seed-0"]


def test_while_it_stops_the_summary_says_so(board) -> None:
    board.stopping = True
    board.submitted = {board.cells[1].folder}
    assert shown(board_view(board, ""))[-1].startswith("stopping: runs save their states")
    board.submitted = set()
    assert shown(board_view(board, ""))[-1].startswith("1 of 6 runs done")
