"""What a run tells while it goes: progress in the terminal, lines in files, TensorBoard events."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

import torch
from rich.console import Console

from recoseg.distributed import mean_over_processes, rank
from recoseg.evaluate.scores_file import none_if_nan, scores_as_plain
from recoseg.train.event_file import EventFile
from recoseg.train.memory import peak_bytes
from recoseg.train.part_means import PartMeans
from recoseg.train.progress import ProgressDisplay
from recoseg.train.run_folder import RunFolder, append_line
from recoseg.train.step_pictures import step_pictures
from recoseg.types import Scores, StepOutput


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
        log_every: int,
        device: torch.device,
        palette: Sequence[tuple[int, int, int]],
        console: Console,
    ) -> None:
        self.folder, self.iterations, self.log_every = folder, iterations, log_every
        self.start, self.device, self.palette = start, device, palette
        self.writes = rank() == 0
        self.console = console if self.writes else Console(quiet=True)
        self.recent, self.since_evaluation = PartMeans(), PartMeans()
        self.started = time.monotonic()
        self.seconds_waited, self.images_seen = 0.0, 0
        self.notes: set[str] = set()
        # What a run wrote after the state that it goes on from is written again: TensorBoard shall forget it.
        self.writer = EventFile(folder.path, start=start + 1) if self.writes else None
        self.display = ProgressDisplay(self.console, start=start, iterations=iterations)

    def __enter__(self) -> RunLog:
        self.display.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.display.stop()
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
        self.display.advance(done)
        if not self.is_due(done - 1):
            return
        means = self.recent.take()
        seconds = time.monotonic() - self.started
        times = {"seconds": round(seconds, 3), "waited": round(self.seconds_waited, 3)}
        self.write_losses(done, {"lr": rate, **means}, mean_stats(output), times)
        if output.note is not None and output.note not in self.notes:
            self.notes.add(output.note)
            self.console.print(f"iteration {done}: {output.note}", highlight=False, soft_wrap=True)
        steps_per_second = (done - self.start) / max(seconds, 1e-9)
        shown = {name: means[name] for name in parts}
        images = self.images_seen / max(seconds, 1e-9)
        self.display.show(done, shown, images, steps_per_second, peak_bytes(self.device))

    def write_losses(
        self, done: int, values: Mapping[str, float], stats: Mapping[str, float], times: Mapping[str, float]
    ) -> None:
        if self.writer is None:
            return
        line: dict[str, Any] = {"iteration": done, **without_nan(values)}
        append_line(self.folder.losses, {**line, **({"stats": without_nan(stats)} if stats else {}), **times})
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
        line = {"iteration": done, **scores_as_plain(scores), "losses": without_nan(means)}
        told = f"iteration {done}: mean IoU {scores.mean_iou:.1%}, accuracy {scores.accuracy:.1%}"
        if chosen is not None:
            line["selection"] = {"on": chosen_on, "mean_iou": none_if_nan(chosen.mean_iou)}
            self.writer.add_scalar("selection/mean_iou", chosen.mean_iou, done)
            told += f", {chosen.mean_iou:.1%} on {chosen_on}"
        append_line(self.folder.metrics, line)
        self.writer.add_scalar("val/mean_iou", scores.mean_iou, done)
        self.writer.add_scalar("val/accuracy", scores.accuracy, done)
        self.console.print(f"{told}, loss {means['loss']:.3f}", highlight=False, soft_wrap=True)

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


def without_nan(values: Mapping[str, float]) -> dict[str, float | None]:
    return {name: none_if_nan(value) for name, value in values.items()}
