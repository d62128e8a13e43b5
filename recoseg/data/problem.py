"""What is wrong with a file, and what its owner can do about it: one entry of a list, or an error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from recoseg.errors import UserError


@dataclass(frozen=True)
class Problem:
    """Something in `file` that should be mended. A `fatal` one makes the dataset unusable as it is."""

    file: str
    what: str
    remedy: str
    fatal: bool = True

    def __str__(self) -> str:
        return f"{self.file}: {self.what}; {self.remedy}"


class FileError(UserError):
    """A file that cannot be used. Its `problem` is kept in parts, so that `recoseg check` can list it."""

    def __init__(self, file: str | Path, what: str, remedy: str) -> None:
        super().__init__(str(file), what, remedy)  # the arguments as given: pickles across processes
        self.problem = Problem(str(file), what, remedy)

    def __str__(self) -> str:
        return str(self.problem)


def raise_first(problems: Sequence[Problem], *, root: Path) -> None:
    """Raises the first fatal problem, if there is one, and says how to see the others."""
    fatal = [problem for problem in problems if problem.fatal]
    if not fatal:
        return
    others = len(problems) - 1
    more = f" ({others} more; `recoseg check {root}` lists all)" if others else ""
    raise UserError(f"{fatal[0]}{more}")
