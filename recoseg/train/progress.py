"""The progress of a run in the terminal: a bar with the parts of the loss, or a line now and then."""

from __future__ import annotations

import time
from collections.abc import Mapping

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
from rich.text import Text

PLAIN_LINE_SECONDS = 10.0
"""Where output is not a terminal: the least time between two lines."""


class ProgressDisplay:
    def __init__(self, console: Console, *, start: int, iterations: int) -> None:
        self.console, self.iterations = console, iterations
        self.last_line = time.monotonic()
        self.bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.completed}/{task.total}"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[speed]}"),
            console=console,
        )
        self.task = self.bar.add_task("", total=iterations, completed=start, speed="")
        self.parts = Text("", overflow="ellipsis", no_wrap=True)
        shown = Group(self.bar, self.parts)
        self.live = Live(shown, console=console, transient=True) if console.is_terminal else None

    def start(self) -> None:
        if self.live is not None:
            self.live.start()

    def stop(self) -> None:
        if self.live is not None:
            self.live.stop()

    def advance(self, done: int) -> None:
        self.bar.update(self.task, completed=done)

    def show(self, done: int, parts: Mapping[str, float], images: float, steps: float, memory: int) -> None:
        """`images` and `steps` are per second, `memory` in bytes."""
        left = clock((self.iterations - done) / max(steps, 1e-9))
        speed = f"{images:.1f} images/s  {memory / 1e9:.1f} GB  {left} left"
        losses = "  ".join(f"{name} {value:.3f}" for name, value in parts.items())
        self.bar.update(self.task, speed=speed)
        self.parts.plain = f"  {losses}"
        now = time.monotonic()
        if self.live is None and now - self.last_line >= PLAIN_LINE_SECONDS:
            line = f"{done}/{self.iterations}  {losses}  {speed}"
            self.console.print(line, highlight=False, soft_wrap=True)
            self.last_line = now


def clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
