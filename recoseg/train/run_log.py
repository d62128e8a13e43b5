"""What a run tells while it goes: progress in the terminal, lines in files, TensorBoard events."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from torch import Tensor
from torch.utils.tensorboard import SummaryWriter

from recoseg.train.run_folder import RunFolder, append_line
from recoseg.types import Scores

PLAIN_LINE_SECONDS = 10.0
"""Where output is not a terminal: the least time between two progress lines."""


class RunLog:
    """Averages the parts of the loss and writes them, with scores, to every place that shows them."""

    def __init__(
        self,
        folder: RunFolder,
        *,
        start: int,
        iterations: int,
        images_per_step: int,
        log_every: int,
        console: Console,
    ) -> None:
        self.folder, self.iterations, self.log_every, self.console = folder, iterations, log_every, console
        self.images_per_step = images_per_step
        self.recent, self.since_evaluation = PartMeans(), PartMeans()
        self.started = self.last_line = time.monotonic()
        self.start = start
        self.writer = SummaryWriter(str(folder.path), purge_step=start + 1 if start else None)
        self.progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.completed}/{task.total}"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[loss]}  {task.fields[speed]}"),
            TimeRemainingColumn(compact=True),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self.task = self.progress.add_task("", total=iterations, completed=start, loss="loss -", speed="")

    def __enter__(self) -> RunLog:
        self.progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.progress.stop()
        self.writer.close()

    def state(self) -> dict[str, Any]:
        """Sums that are not written yet: without them a resumed run would log other means."""
        return {"recent": self.recent.state(), "since_evaluation": self.since_evaluation.state()}

    def restore(self, state: Mapping[str, Any], device: torch.device) -> None:
        self.recent.restore(state["recent"], device)
        self.since_evaluation.restore(state["since_evaluation"], device)

    def step(self, done: int, parts: Mapping[str, Tensor], rate: float) -> None:
        """Note the losses of iteration number `done`."""
        self.recent.add(parts)
        self.since_evaluation.add(parts)
        self.progress.update(self.task, completed=done)
        if done % self.log_every and done != self.iterations:
            return
        means = self.recent.take()
        seconds = time.monotonic() - self.started
        append_line(
            self.folder.losses, {"iteration": done, "lr": rate, **means, "seconds": round(seconds, 3)}
        )
        for name, value in means.items():
            self.writer.add_scalar(f"loss/{name}", value, done)
        self.writer.add_scalar("lr", rate, done)
        self.show(done, means["loss"], seconds)

    def show(self, done: int, loss: float, seconds: float) -> None:
        steps_per_second = (done - self.start) / max(seconds, 1e-9)
        speed = f"{steps_per_second * self.images_per_step:.1f} images/s"
        self.progress.update(self.task, loss=f"loss {loss:.3f}", speed=speed)
        now = time.monotonic()
        if not self.console.is_terminal and now - self.last_line >= PLAIN_LINE_SECONDS:
            left = (self.iterations - done) / max(steps_per_second, 1e-9)
            self.console.print(f"{done}/{self.iterations}  loss {loss:.3f}  {speed}  {clock(left)} left")
            self.last_line = now

    def evaluation(self, done: int, scores: Scores) -> None:
        """Note the scores after `done` iterations."""
        means = self.since_evaluation.take()
        append_line(self.folder.metrics, {"iteration": done, **scores_as_plain(scores), "losses": means})
        self.writer.add_scalar("val/mean_iou", scores.mean_iou, done)
        self.writer.add_scalar("val/accuracy", scores.accuracy, done)
        self.console.print(
            f"iteration {done}: mean IoU {scores.mean_iou:.1%}, accuracy {scores.accuracy:.1%}, "
            f"loss {means['loss']:.3f}",
            highlight=False,
        )


class PartMeans:
    """Running sums of the parts of the loss, kept on their device so that most steps wait for nothing."""

    def __init__(self) -> None:
        self.sums: dict[str, Tensor] = {}
        self.count = 0

    def state(self) -> dict[str, Any]:
        return {"sums": dict(self.sums), "count": self.count}

    def restore(self, state: Mapping[str, Any], device: torch.device) -> None:
        self.sums = {name: value.to(device) for name, value in state["sums"].items()}
        self.count = state["count"]

    def add(self, parts: Mapping[str, Tensor]) -> None:
        for name, value in parts.items():
            self.sums[name] = (
                self.sums.get(name, torch.zeros((), device=value.device)) + value.detach().float()
            )
        self.count += 1

    def take(self) -> dict[str, float]:
        """The means so far; counting starts anew."""
        means = {name: float(value) / self.count for name, value in self.sums.items()}
        self.sums, self.count = {}, 0
        return means


def scores_as_plain(scores: Scores) -> dict[str, object]:
    """Scores for a JSON file; an absent class is null."""
    return {
        "mean_iou": none_if_nan(scores.mean_iou),
        "accuracy": none_if_nan(scores.accuracy),
        "iou": [none_if_nan(value) for value in scores.iou.tolist()],
        "class_accuracy": [none_if_nan(value) for value in scores.class_accuracy.tolist()],
        "confusion": scores.confusion.tolist(),
    }


def none_if_nan(value: float) -> float | None:
    return None if value != value else value


def clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
