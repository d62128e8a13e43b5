"""Doing one cell: train it, or go on with it, score it, and leave its result."""

from __future__ import annotations

import platform
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

import torch

from recoseg.builders.training import choose_device
from recoseg.config.load import load
from recoseg.errors import UserError
from recoseg.evaluate.scores_file import Evaluation
from recoseg.experiments.cell_settings import portable
from recoseg.experiments.cells import Cell
from recoseg.experiments.results import FILE, Result
from recoseg.experiments.states import CellState, state_of, training_seconds
from recoseg.train.run_folder import RunFolder

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
    """All that is left to do of a cell; a folder that another process trains in is left to it."""
    cell.log.parent.mkdir(parents=True, exist_ok=True)
    state = state_when_free(cell)
    if state.result is not None:
        return state.result
    for command in commands_left(cell, state):
        code = start(command, cell.log)
        if code == 130:
            raise CellStoppedError
        if code:
            raise CellError(trouble(code, cell.log))
    result = result_of(cell, threads=threads)
    result.save(cell.folder / FILE)
    return result


def commands_left(cell: Cell, state: CellState) -> Iterator[list[str]]:
    if state.kind == "other":
        names = ", ".join(state.differences)
        raise CellError(f"{cell.folder} was begun with other settings: {names}")
    if state.kind == "damaged":
        raise CellError(state.trouble)
    if state.kind == "running":
        raise CellInUseError
    if state.kind == "new":
        put_aside(cell.folder)
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
    return f"{processor()}, {count} thread{'' if count == 1 else 's'}"


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
