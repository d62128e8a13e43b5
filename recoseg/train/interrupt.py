"""Ctrl-C during training: end after the current iteration, with its state saved."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class Interrupted(KeyboardInterrupt):
    """Training was ended early on request, after a state was saved."""


class StopRequest:
    """Within `with StopRequest() as stop`, a first Ctrl-C sets `stop.requested`; a second ends at once."""

    def __init__(self) -> None:
        self.requested = False
        self.previous: Any = None

    def __enter__(self) -> StopRequest:
        # Signals can only be caught in the main thread; elsewhere Ctrl-C keeps its usual meaning.
        if threading.current_thread() is threading.main_thread():
            self.previous = signal.signal(signal.SIGINT, self.request)
        return self

    def request(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.previous is not None:
            signal.signal(signal.SIGINT, self.previous)
