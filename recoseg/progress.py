"""The progress of work: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING

from recoseg.text import clock, printable

if TYPE_CHECKING:
    from rich.console import Console

SECONDS_BETWEEN_LINES = 10.0
"""The least time between two lines where output is not a terminal."""


class ProgressBar:
    """Use it in a `with` block. `doing` stands before the bar, `did` begins a line."""

    def __init__(self, console: Console, *, doing: str = "", did: str = "", unit: str = "images") -> None:
        from rich.console import Group
        from rich.live import Live
        from rich.progress import BarColumn, Progress, TextColumn
        from rich.text import Text

        self.console, self.did, self.unit = console, did, unit
        self.begun = self.last_line = time.monotonic()
        name, count, after = (
            TextColumn(f"{{task.{what}}}", markup=False)
            for what in ("description", "fields[count]", "fields[after]")
        )
        self.bar = Progress(name, BarColumn(bar_width=None), count, after, console=console, expand=True)
        self.task = self.bar.add_task(printable(doing), total=None, count="", after="")
        self.detail = Text("", overflow="ellipsis", no_wrap=True)
        shown = Group(self.bar, self.detail)
        self.live = Live(shown, console=console, transient=True) if console.is_terminal else None

    def __enter__(self) -> ProgressBar:
        if self.live is not None:
            self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.live is not None:
            self.live.stop()

    def advance(self, done: float, total: int) -> None:
        """Count on a terminal, with the last note."""
        if self.live is not None:
            self.bar.update(self.task, completed=done, total=total, count=f"{int(done)}/{total}")

    def show(
        self, done: float, total: int, *, note: str = "", detail: str = "", left: float | None = None
    ) -> None:
        """`note` stands beside the bar, `detail` below it; `left` is in seconds, by default from the pace."""
        now = time.monotonic()
        if left is None and done:
            left = (now - self.begun) / done * (total - done)
        after = [note, "" if left is None else f"{clock(left)} left"]
        if self.live is not None:
            self.advance(done, total)
            self.bar.update(self.task, after="  ".join(filter(None, after)))
            self.detail.plain = f"  {detail}" if detail else ""
        elif now - self.last_line >= SECONDS_BETWEEN_LINES:
            self.last_line = now
            words = ", ".join(
                filter(None, [f"{self.did} {int(done)} of {total} {self.unit}".strip(), *after])
            )
            self.console.print(printable("  ".join(filter(None, [words, detail]))), soft_wrap=True)
