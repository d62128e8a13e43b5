"""The terminal, for which text is text: names of images, classes and runs are none of its markup."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def new_console(*, stderr: bool = False, quiet: bool = False) -> Console:
    """What all commands print through: square brackets, colons and numbers stay what they are."""
    from rich.console import Console

    return Console(stderr=stderr, quiet=quiet, markup=False, emoji=False, highlight=False)
