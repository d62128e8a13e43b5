"""What a run tells while it goes: progress in the terminal, lines in files, TensorBoard events."""

from __future__ import annotations

import itertools
import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
from rich.console import Console
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.summary.writer.record_writer import RecordWriter
from torch import Tensor
from torch.utils.tensorboard import summary

from recoseg.distributed import gather_over_processes, mean_over_processes, rank, world_size
from recoseg.evaluate.scores import Scores
from recoseg.evaluate.scores_file import none_if_nan, scores_as_plain
from recoseg.files import naming
from recoseg.progress import ProgressBar
from recoseg.training.early_end import peak_bytes
from recoseg.training.run_folder import RunFolder, append_line
from recoseg.types import IGNORE, PseudoLabels, StepOutput


class RunLog:
    """Averages the parts of the loss and writes them, with scores, to every place that shows them.

    With several processes all of them keep a log, since means are taken over all; the first one writes.
    """

    def __init__(
        self,
        folder: RunFolder,
        *,
        start: int,
        iterations: int,
        images_by: Callable[[int], int],
        log_every: int,
        device: torch.device,
        palette: Sequence[tuple[int, int, int]],
        console: Console,
    ) -> None:
        self.folder, self.iterations, self.log_every = folder, iterations, log_every
        self.images_by = (
            images_by  # so many iterations -> images of them: steps of a supervised start are short
        )
        self.start, self.device, self.palette = start, device, palette
        self.writes = rank() == 0
        self.console = console if self.writes else Console(quiet=True)
        self.recent, self.since_evaluation = PartMeans(), PartMeans()
        self.started = time.monotonic()
        self.seconds_waited, self.images_seen = 0.0, 0
        self.notes: set[str] = set()
        # What a run wrote after the state that it goes on from is written again: TensorBoard shall forget it.
        self.writer = EventFile(folder.path, start=start + 1) if self.writes else None
        self.bar = ProgressBar(self.console, unit="iterations")

    def __enter__(self) -> RunLog:
        self.bar.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.__exit__(kind, error, trace)
        if self.writer is not None:
            self.writer.close()

    def state(self) -> dict[str, Any]:
        """Sums that are not written yet: without them a resumed run would log other means."""
        return {"recent": self.recent.state(), "since_evaluation": self.since_evaluation.state()}

    def restore(self, state: Mapping[str, Any], device: torch.device) -> None:
        self.recent.restore(state["recent"], device)
        self.since_evaluation.restore(state["since_evaluation"], device)

    def is_due(self, iteration: int) -> bool:
        """Whether the losses of iteration number `iteration`, from 0, are written at its end."""
        done = iteration + 1
        return done % self.log_every == 0 or done == self.iterations

    def loaded(self, images: int, seconds: float) -> None:
        """Note images of all processes, and how long the device had nothing to do until they came."""
        self.images_seen += images
        self.seconds_waited += seconds

    def step(self, done: int, output: StepOutput, rate: float) -> None:
        """Note what iteration number `done` gave."""
        parts = {"loss": output.loss, **output.parts}
        self.recent.add(parts)
        self.since_evaluation.add(parts)
        self.bar.advance(done, self.iterations)
        if not self.is_due(done - 1):
            return
        means = self.recent.take()
        seconds = time.monotonic() - self.started
        times = {"seconds": round(seconds, 3), "waited": round(self.seconds_waited, 3)}
        self.write_losses(done, {"lr": rate, **means}, mean_stats(output), times)
        if output.note is not None and output.note not in self.notes:
            self.notes.add(output.note)
            self.console.print(f"iteration {done}: {output.note}", highlight=False, soft_wrap=True)
        pace = seconds / max(self.images_by(done) - self.images_by(self.start), 1)  # of an image
        left = pace * (self.images_by(self.iterations) - self.images_by(done))
        images = self.images_seen / max(seconds, 1e-9)
        self.bar.show(
            done,
            self.iterations,
            note=f"{images:.1f} images/s  {peak_bytes(self.device) / 1e9:.1f} GB",
            detail="  ".join(f"{name} {means[name]:.3f}" for name in parts),
            left=left,
        )

    def write_losses(
        self, done: int, values: Mapping[str, float], stats: Mapping[str, float], times: Mapping[str, float]
    ) -> None:
        if self.writer is None:
            return
        line: dict[str, Any] = {"iteration": done, **_without_nan(values)}
        append_line(
            self.folder.losses, {**line, **({"stats": _without_nan(stats)} if stats else {}), **times}
        )
        for name, value in values.items():
            self.writer.add_scalar(name if name == "lr" else f"loss/{name}", value, done)
        for name, value in stats.items():
            self.writer.add_scalar(f"stats/{name}", value, done)

    def evaluation(
        self, done: int, scores: Scores, chosen_on: str | None = None, chosen: Scores | None = None
    ) -> None:
        """Note the scores after `done` iterations, and those that choose the best weights, if any do."""
        means = self.since_evaluation.take()
        if self.writer is None:
            return
        line = {"iteration": done, **scores_as_plain(scores), "losses": _without_nan(means)}
        told = f"iteration {done}: mean IoU {scores.mean_iou:.1%}, accuracy {scores.accuracy:.1%}"
        if chosen is not None:
            line["selection"] = {"on": chosen_on, "mean_iou": none_if_nan(chosen.mean_iou)}
            self.writer.add_scalar("selection/mean_iou", chosen.mean_iou, done)
            told += f", {chosen.mean_iou:.1%} on {chosen_on}"
        append_line(self.folder.metrics, line)
        self.writer.add_scalar("val/mean_iou", scores.mean_iou, done)
        self.writer.add_scalar("val/accuracy", scores.accuracy, done)
        if means:  # none before the first step
            told += f", loss {means['loss']:.3f}"
        self.console.print(told, highlight=False, soft_wrap=True)

    def pictures(self, done: int, output: StepOutput) -> None:
        """What the student saw of unlabelled images: mixed image, pseudo-label, confidence side by side."""
        if self.writer is not None and output.mixed is not None:
            pictures = step_pictures(*output.mixed, self.palette)
            self.writer.add_image("mixed", torch.cat(list(pictures), dim=1), done)  # one below the other


def mean_stats(output: StepOutput) -> dict[str, float]:
    """The stats of one step, over the processes that have them: an idle contrast's accuracy is NaN."""
    if not output.stats:
        return {}
    values = torch.stack([value.float() for value in output.stats.values()])
    there = ~values.isnan()
    means = mean_over_processes(values.nan_to_num(0)) / mean_over_processes(there.float())
    return dict(zip(output.stats, means.tolist(), strict=True))


def _without_nan(values: Mapping[str, float]) -> dict[str, float | None]:
    return {name: none_if_nan(value) for name, value in values.items()}


class PartMeans:
    """Sums of parts and how often each was there: a part may begin later than others."""

    def __init__(self) -> None:
        self.sums: dict[str, Tensor] = {}
        self.counts: dict[str, int] = {}

    def state(self) -> dict[str, Any]:
        """The sums of all processes, (world,) each. All of them must call this."""
        sums = {name: gather_over_processes(value) for name, value in self.sums.items()}
        return {"sums": sums, "counts": dict(self.counts)}

    def restore(self, state: Mapping[str, Any], device: torch.device) -> None:
        """Each process takes its own sums up; the mean of all where there are now more or fewer processes."""
        self.counts = dict(state["counts"])
        for name, values in state["sums"].items():
            own = values[rank()] if len(values) == world_size() else values.mean()
            self.sums[name] = own.to(device)

    def add(self, parts: Mapping[str, Tensor]) -> None:
        for name, value in parts.items():
            zero = torch.zeros((), device=value.device)
            self.sums[name] = self.sums.get(name, zero) + value.detach().float()
            self.counts[name] = self.counts.get(name, 0) + 1

    def take(self) -> dict[str, float]:
        """The means so far, over all processes; counting starts anew."""
        if not self.sums:
            return {}
        values = torch.stack([value / self.counts[name] for name, value in self.sums.items()])
        means = dict(zip(self.sums, mean_over_processes(values).tolist(), strict=True))
        self.sums, self.counts = {}, {}
        return means


def step_pictures(
    images: Tensor, pseudo: PseudoLabels, palette: Sequence[tuple[int, int, int]], most: int = 4
) -> Tensor:
    """(B, 3, H, W) and labels -> (up to `most`, 3, H, 3 * W) in [0, 1]; a pixel without label is black."""
    colours = torch.zeros(IGNORE + 1, 3)
    colours[: len(palette)] = torch.tensor(palette).float() / 255
    labels = colours[pseudo.labels[:most].cpu()].movedim(3, 1)  # (B, 3, H, W)
    confidence = pseudo.confidence[:most, None].cpu().float().expand(-1, 3, -1, -1)
    return torch.cat([images[:most].detach().cpu().float(), labels, confidence], dim=3)


_numbers = itertools.count()


class EventFile:
    """A new file of events in a folder, written as they come.

    TensorBoard forgets what other files there have from iteration `start` on. The thread of torch's
    `SummaryWriter` prints a traceback on a full disk.
    """

    def __init__(self, folder: Path, *, start: int) -> None:
        name = f"{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{next(_numbers)}"
        self.path = folder / f"events.out.tfevents.{name}"
        self.records = RecordWriter(self.path.open("wb"))
        self.add(Event(step=start, file_version="brain.Event:2"))
        self.add(Event(step=start, session_log=SessionLog(status=SessionLog.START)))

    def add(self, event: Any) -> None:
        event.wall_time = time.time()
        with naming(self.path):
            self.records.write(event.SerializeToString())
            self.records.flush()

    def add_scalar(self, name: str, value: float, iteration: int) -> None:
        self.add(Event(step=iteration, summary=summary.scalar(name, value)))  # type: ignore[no-untyped-call]

    def add_image(self, name: str, image: Tensor, iteration: int) -> None:
        """(3, H, W) in [0, 1]."""
        picture = summary.image(name, image, dataformats="CHW")  # type: ignore[no-untyped-call]
        self.add(Event(step=iteration, summary=picture))

    def close(self) -> None:
        with naming(self.path):
            self.records.close()
