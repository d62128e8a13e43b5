"""The terminal: a console for which text is text, and the progress of work on many files.

Names of images, classes and runs are none of its markup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from recoseg.text import printable

if TYPE_CHECKING:
    from rich.console import Console


def new_console(*, stderr: bool = False, quiet: bool = False) -> Console:
    """What all commands print through: square brackets, colons and numbers stay what they are."""
    from rich.console import Console

    return Console(stderr=stderr, quiet=quiet, markup=False, emoji=False, highlight=False)


@contextmanager
def progress_of(
    console: Console, *, doing: str = "reading files", did: str = "read"
) -> Iterator[Callable[[int, int], None]]:
    """Yield a function to call with the number of files done and of all files."""
    from recoseg.progress import ProgressBar

    with ProgressBar(console, doing=doing, did=did) as bar:
        yield bar.show


@contextmanager
def stage(console: Console, doing: str) -> Iterator[None]:
    """Show work of unknown length: a spinner on a terminal, a line elsewhere."""
    from rich.text import Text

    if console.is_terminal:
        with console.status(Text(printable(doing))):
            yield
        return
    console.print(printable(f"{doing} ..."), soft_wrap=True)
    yield


def told_progress(
    *, stderr: bool = True
) -> Callable[[str, str], AbstractContextManager[Callable[[int, int], None]]]:
    """`progress_of`, for work below the command line that knows no console."""
    console = new_console(stderr=stderr)
    return lambda doing, did: progress_of(console, doing=doing, did=did)
