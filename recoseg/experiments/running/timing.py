"""How long a run would take: a few steps and a few images of it, timed."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import torch
from rich.console import Console

from recoseg.evaluate.loop import evaluate
from recoseg.experiments.plan.cells import Cell
from recoseg.experiments.plan.grids import COLUMNS
from recoseg.runs.start import new_run
from recoseg.training.trainer import Trainer

WARM_UP, STEPS, _IMAGES = 2, 4, 4


@dataclass(frozen=True)
class Pace:
    """Seconds of a step and of an image that is scored, and how many of them a run has."""

    step: float
    image: float
    steps: int
    images: int

    @property
    def seconds(self) -> float:
        return self.step * self.steps + self.image * self.images


def probe(cell: Cell, *, threads: int) -> Pace:
    """Timed with so many threads, at the end of the schedule, where all parts of the loss take part."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with tempfile.TemporaryDirectory() as folder:
            trainer = new_run(cell.config, Path(folder) / "probe")
            step, image = seconds_of_step(trainer), _seconds_of_image(trainer)
    finally:
        torch.set_num_threads(before)
    scored = len(trainer.validation.dataset.keys(COLUMNS[cell.column].subset))  # once more, when all is done
    evaluations = -(-trainer.train.iterations // trainer.train.evaluate_every)
    images = evaluations * len(trainer.validation.keys) + scored
    return Pace(step, image, trainer.train.iterations, images)


def seconds_of_step(trainer: Trainer) -> float:
    """The mean of some steps, after others that make everything ready."""
    last = trainer.train.iterations
    first = max(0, last - WARM_UP - STEPS)
    trainer.place()
    pairs = trainer.batches.from_iteration(first, last, workers=trainer.num_loaders)
    times = [time.perf_counter()]
    with closing(pairs), trainer.new_log(first, Console(quiet=True)) as log:
        for iteration in range(first, last):
            trainer.step(trainer.method, pairs, iteration, log)
            if trainer.device.type == "cuda":
                torch.cuda.synchronize()
            times.append(time.perf_counter())
    return after_warm_up(times)


def after_warm_up(times: Sequence[float]) -> float:
    """The mean step, from when the first began and each ended; if there are too few, of the last one."""
    measured = times[min(WARM_UP, len(times) - 2) :]
    return (measured[-1] - measured[0]) / (len(measured) - 1)


def _seconds_of_image(trainer: Trainer) -> float:
    keys = trainer.validation.keys[:_IMAGES]
    started = time.perf_counter()
    evaluate(trainer.method.evaluation_model, trainer.validation.dataset, keys, device=trainer.device)
    return (time.perf_counter() - started) / len(keys)
