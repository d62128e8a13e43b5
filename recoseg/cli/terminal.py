"""The terminal: a console for which text is text, and the progress of work on many files.

Names of images, classes and runs are none of its markup.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from recoseg.text import printable

if TYPE_CHECKING:
    from rich.console import Console

SECONDS_BETWEEN_LINES = 5.0


def new_console(*, stderr: bool = False, quiet: bool = False) -> Console:
    """What all commands print through: square brackets, colons and numbers stay what they are."""
    from rich.console import Console

    return Console(stderr=stderr, quiet=quiet, markup=False, emoji=False, highlight=False)


@contextmanager
def progress_of(
    console: Console, *, doing: str = "reading files", did: str = "read"
) -> Iterator[Callable[[int, int], None]]:
    """What to call with files done and files in all: a bar on a terminal, now and then a line elsewhere."""
    if console.is_terminal:
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        told = TextColumn("{task.description}", markup=False)  # a run may have any name
        columns = (told, BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(printable(doing), total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
        return
    last = time.monotonic()

    def line(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            console.print(printable(f"{did} {done} of {total} images"))

    yield line


@contextmanager
def stage(console: Console, doing: str) -> Iterator[None]:
    """Show what is being done and for how long where nobody can tell how much is left; a line elsewhere."""
    if not console.is_terminal:
        console.print(printable(f"{doing} ..."), soft_wrap=True)
        yield
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    told = TextColumn("{task.description}", markup=False)
    with Progress(SpinnerColumn(), told, TimeElapsedColumn(), console=console, transient=True) as progress:
        progress.add_task(printable(doing), total=None)
        yield


def told_progress(
    *, stderr: bool = True
) -> Callable[[str, str], AbstractContextManager[Callable[[int, int], None]]]:
    """`progress_of`, for work below the command line that knows no console."""
    console = new_console(stderr=stderr)
    return lambda doing, did: progress_of(console, doing=doing, did=did)
