"""The learner's jobs: the most urgent first, a piece at a time."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from enum import IntEnum, auto
from itertools import count


class Urgency(IntEnum):
    """In this order."""

    FIRST = auto()  # what learning needs
    LEARN = auto()
    SHOW = auto()  # predictions of images that the page shows
    ANSWER = auto()  # predictions that an export waits for
    SURVEY = auto()  # shares of classes, and where to click next
    EVALUATE = auto()
    BACKGROUND = auto()


class JobQueue:
    """A job is an iterator: each `next` does a piece of it, so that an urgent job never waits for long.

    Equally urgent jobs take turns.
    """

    def __init__(self) -> None:
        self._jobs: dict[Hashable, tuple[Urgency, int, Iterator[None]]] = {}
        self._numbers = count()

    def put(self, name: Hashable, urgency: Urgency, pieces: Iterator[None]) -> None:
        """It replaces the job of that name."""
        self._jobs[name] = urgency, next(self._numbers), pieces

    def work(self) -> None:
        """Do one piece of the most urgent job."""
        name = min(self._jobs, key=lambda name: self._jobs[name][:2])
        job = urgency, _, pieces = self._jobs[name]
        is_done = next(pieces, self) is self
        if self._jobs[name] is job:  # else a new one replaced it
            if is_done:
                del self._jobs[name]
            else:
                self.put(name, urgency, pieces)

    def __contains__(self, name: Hashable) -> bool:
        return name in self._jobs

    def __len__(self) -> int:
        return len(self._jobs)
