"""One cell: how far it is, read from its folder, and doing what is left: train, score, keep the result."""

from __future__ import annotations

import fcntl
import platform
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from recoseg.config.load import load, to_yaml
from recoseg.errors import UserError
from recoseg.evaluate.scores_file import Evaluation
from recoseg.experiments.plan.cells import Cell, comparable, differing, portable
from recoseg.experiments.tables.results import RESULT_FILE, Result, load_result
from recoseg.files import write_whole
from recoseg.training.precision import choose_device
from recoseg.training.run_folder import RunFolder


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
        return _state_read(cell)
    except UserError as error:
        return CellState("damaged", trouble=str(error))


def _state_read(cell: Cell) -> CellState:
    folder = RunFolder(cell.folder)
    if not folder.is_run():
        return CellState("running" if folder.is_in_use() else "new", iterations=cell.iterations)
    settings = _settings_in(folder.config, folder.config.stat().st_mtime_ns)
    if differences := differing(settings, cell.settings):
        return CellState("other", differences=differences)
    if (cell.folder / RESULT_FILE).exists():
        return CellState.of_result(result_in(cell))
    losses = folder.read_losses()
    done = max((line["iteration"] for line in losses), default=0)
    is_trained = _ends_at(folder, cell.iterations)
    kind = "running" if folder.is_in_use() else "trained" if is_trained else "begun"
    return CellState(kind, done, cell.iterations, training_seconds(losses))


def result_in(cell: Cell) -> Result:
    """The result in the folder of a cell, which must be its own."""
    path = cell.folder / RESULT_FILE
    result = load_result(path)
    for name, found, wanted in zip(
        ("profile", "column", "row", "seed"), result.place, cell.place, strict=True
    ):
        if found != wanted:
            raise UserError(f"{path} is of {name} {found}, not {wanted}: delete it, or bring its own back")
    return result


@cache
def _settings_in(path: Path, changed: int) -> dict[str, object]:
    """Kept as long as the file stays as it is: runs are looked at every few seconds."""
    return comparable(load(path))


def _ends_at(folder: RunFolder, iterations: int) -> bool:
    """Whether the last evaluation is of the last iteration; weights were saved before it was logged."""
    metrics = folder.read_metrics()
    return bool(metrics) and metrics[-1]["iteration"] == iterations and folder.weights.is_file()


def training_seconds(losses: Sequence[dict[str, Any]]) -> float:
    """Of all processes that wrote the log, whose clocks each began at 0."""
    seconds: list[float] = [line["seconds"] for line in losses]
    return sum(now for now, after in pairwise([*seconds, 0.0]) if after < now)


# Doing what is left.

SECONDS_TO_NOTICE = 10.0

Start = Callable[[Sequence[str], Path], int]
"""Runs a command of recoseg, its output appended to a file; returns its exit code."""


class CellError(Exception):
    """A command of a cell ended with an error; the message is one line."""


class CellStoppedError(Exception):
    """A command of a cell was asked to end, and did, with its state saved."""


class CellInUseError(Exception):
    """Another process trains in the folder of a cell."""


def execute(cell: Cell, start: Start, *, threads: int | None) -> Result:
    """Do all that is left to do of a cell; one that another process works on is left to it."""
    cell.log.parent.mkdir(parents=True, exist_ok=True)
    with _claimed(cell):
        return _execute(cell, start, threads=threads)


@contextmanager
def _claimed(cell: Cell) -> Iterator[None]:
    """Hold the cell's lock, which ends with this process. A run's own lock covers training alone.

    The empty file stays: a process that waits for a removed file would hold a lock that nobody else sees.
    """
    end = time.monotonic() + SECONDS_TO_NOTICE
    with cell.log.with_suffix(".lock").open("ab") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise CellInUseError from None
                time.sleep(1.0)
        yield


def _execute(cell: Cell, start: Start, *, threads: int | None) -> Result:
    state = state_when_free(cell)
    if state.result is not None:
        return state.result
    for command in _commands_left(cell, state):
        code = start(command, cell.log)
        if code == 130:
            raise CellStoppedError
        if code:
            raise CellError(trouble(code, cell.log))
    result = result_of(cell, threads=threads)
    result.save(cell.folder / RESULT_FILE)
    return result


def _commands_left(cell: Cell, state: CellState) -> Iterator[list[str]]:
    if state.kind == "other":
        names = ", ".join(state.differences)
        raise CellError(f"{cell.folder} was begun with other settings: {names}")
    if state.kind == "damaged":
        raise CellError(state.trouble)
    if state.kind == "running":
        raise CellInUseError
    if state.kind == "new":
        put_aside(cell.folder)
        write_whole(cell.config_file, to_yaml(cell.config))
        yield cell.begin()
    elif state.kind == "begun":
        yield cell.go_on()
    if not cell.scores.is_file():
        yield cell.score()


def state_when_free(cell: Cell) -> CellState:
    """A process that died may leave others behind, which hold its folder until they notice."""
    end = time.monotonic() + SECONDS_TO_NOTICE
    while (state := state_of(cell)).kind == "running" and time.monotonic() < end:
        time.sleep(1.0)
    return state


def put_aside(folder: Path) -> None:
    """A folder that is neither a run nor the beginning of one, which `train --out` takes: make room."""
    if not RunFolder(folder).is_free():
        number = 1
        while (aside := folder.with_name(f"{folder.name}.broken-{number}")).exists():
            number += 1
        folder.rename(aside)


def trouble(code: int, log: Path) -> str:
    """Why a command ended, in a line: what it said last, unless somebody killed it."""
    if code < 0:
        return f"its process was ended by {signal.Signals(-code).name}; the same command goes on with it"
    lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return lines[-1].removeprefix("recoseg: ") if lines else f"exit code {code}"


def result_of(cell: Cell, *, threads: int | None) -> Result:
    folder = RunFolder(cell.folder)
    config = load(folder.config)
    evaluation = Evaluation.load(cell.scores)
    asked = {"iteration": config.train.iterations, "subset": cell.subset, "weights": "last"}
    for name, value in asked.items():
        if evaluation.about.get(name) != value:
            raise UserError(f"{cell.scores} is not of {name} {value}: remove it, and run again")
    scores, boundary = evaluation.scores, evaluation.scores.boundary
    if scores.mean_iou != scores.mean_iou:
        raise UserError(f"{cell.name}: no pixel of {cell.subset} has a label, so there is nothing to score")
    return Result(
        profile=cell.profile,
        column=cell.column,
        row=cell.owner,
        seed=cell.seed,
        subset=cell.subset,
        pixels=int(scores.confusion.sum()),
        mean_iou=scores.mean_iou,
        accuracy=scores.accuracy,
        boundary_iou=boundary.mean_iou if boundary else None,
        boundary_f_score=boundary.mean_f_score if boundary else None,
        calibration_error=scores.metrics.get("calibration", {}).get("ece"),
        iou={
            name: None if value != value else value
            for name, value in zip(evaluation.class_names, scores.iou.tolist(), strict=True)
        },
        curve=tuple(
            (line["iteration"], line["mean_iou"])
            for line in folder.read_metrics()
            if line["mean_iou"] is not None
        ),
        iterations=config.train.iterations,
        seconds=round(training_seconds(folder.read_losses())),
        machine=machine(threads, choose_device(config.train.device)),
        versions=f"recoseg {version('recoseg')}, torch {torch.__version__}",
        settings=portable(config),
    )


def machine(threads: int | None, device: torch.device) -> str:
    """What a run was done on, in a few words."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    count = threads or torch.get_num_threads()
    return f"{_processor()}, {count} thread{'' if count == 1 else 's'}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
