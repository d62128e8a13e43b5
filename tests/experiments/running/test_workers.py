"""The loop that hands out cells, with workers that only pretend."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from recoseg.experiments.plan.cells import cells_of
from recoseg.experiments.plan.grids import GRIDS
from recoseg.experiments.plan.profiles import load_profile
from recoseg.experiments.running import workers as local
from recoseg.experiments.running.board import Board
from recoseg.experiments.running.execute import CellInUseError, CellState, CellStoppedError
from recoseg.experiments.running.workers import LocalWorkers, num_cores, run_cells, threads_each
from recoseg.training.early_end import Interrupted


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


@pytest.mark.parametrize(("cores", "workers", "threads"), [(8, 2, 4), (8, 3, 2), (2, 2, 1), (2, 5, 1)])
def test_cores_are_shared_out(monkeypatch, cores, workers, threads) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(local.os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
    assert threads_each(workers) == threads
    assert LocalWorkers(workers).environment(0)["OMP_NUM_THREADS"] == str(threads)


def test_where_the_system_does_not_tell_them_all_cores_count(monkeypatch) -> None:
    monkeypatch.delattr(local.os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(local.os, "cpu_count", lambda: 6)
    assert num_cores() == 6


def test_threads_that_the_user_has_set_stay(monkeypatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert threads_each(2) == 3
    assert LocalWorkers(2).environment(0)["OMP_NUM_THREADS"] == "3"


@pytest.mark.parametrize(
    ("visible", "gpus", "workers", "given"),
    [
        (None, 0, 2, [None, None]),
        (None, 1, 2, ["0", "0"]),
        (None, 2, 3, ["0", "1", "0"]),
        ("4,7", 2, 2, ["4", "7"]),
        ("4,7", 2, 1, ["4,7"]),
    ],
)
def test_every_worker_has_a_gpu_of_those_that_may_be_used(monkeypatch, visible, gpus, workers, given) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    monkeypatch.setattr(local.torch.cuda, "device_count", lambda: gpus)
    made = LocalWorkers(workers)
    assert [made.environment(number).get("CUDA_VISIBLE_DEVICES") for number in range(workers)] == given


def test_two_workers_do_two_cells_at_a_time_and_an_error_is_an_outcome(monkeypatch) -> None:
    at_work, most = set(), []
    both = threading.Barrier(2, timeout=600)

    def execute(cell, start, *, threads):
        at_work.add(cell)
        most.append(len(at_work))
        both.wait()
        at_work.discard(cell)
        if cell == 3:
            raise ValueError("a reason")
        return f"result {cell}"

    monkeypatch.setattr(local, "execute", execute)
    workers = LocalWorkers(2)
    for cell in range(4):
        workers.submit(cell)
    outcomes = {}
    while len(outcomes) < 4:
        outcomes |= {cell: str(outcome) for cell, outcome in workers.finished(10)}
    workers.close()
    assert outcomes == {0: "result 0", 1: "result 1", 2: "result 2", 3: "a reason"}
    assert max(most) == 2


def test_after_stop_nothing_more_begins_and_what_runs_is_asked_to_end(monkeypatch, tmp_path) -> None:
    started = threading.Event()
    original = subprocess.Popen

    def sleeper(command, **settings):
        process = original([sys.executable, "-c", "import time; time.sleep(60)"], **settings)
        started.set()
        return process

    def execute(cell, start, *, threads):
        return start(["train"], tmp_path / f"log{cell}")

    monkeypatch.setattr(local.subprocess, "Popen", sleeper)
    monkeypatch.setattr(local, "execute", execute)
    workers = LocalWorkers(1)
    workers.submit(0)
    workers.submit(1)
    assert started.wait(30)
    workers.stop()
    outcomes = {}
    while len(outcomes) < 2:
        outcomes |= dict(workers.finished(10))
    workers.close()
    assert {type(outcome) for outcome in outcomes.values()} == {CellStoppedError}
    assert workers.processes == set()


def test_a_command_is_asked_to_end_when_whoever_began_it_is_gone() -> None:
    child = "from recoseg.cli.child import end_with_parent; end_with_parent()"
    # A process that begins such a command, tells its number, and dies without a word to it.
    begin = (
        "import os, sys, time\nfrom subprocess import DEVNULL, PIPE, Popen\n"
        f"p = Popen([sys.executable, '-c', {child!r}], stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL)\n"
        "print(p.pid, flush=True); time.sleep(0.5); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", begin], capture_output=True, text=True, check=False)
    number, deadline = int(done.stdout), time.monotonic() + 600
    while alive(number) and time.monotonic() < deadline:
        time.sleep(0.05)
    survived = alive(number)
    if survived:
        os.kill(number, signal.SIGKILL)
    assert not survived


def alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{number}/stat")  # it may be dead, with nobody who asks for its exit code
    return not state.is_file() or state.read_text().rpartition(")")[2].split()[0] != "Z"
