"""Ctrl-C, SIGTERM or a closed terminal during training: end after the current iteration, with its state."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class Interrupted(KeyboardInterrupt):
    """Training was ended early on request, after a state was saved."""


class StopRequest:
    """Within it, a first Ctrl-C or SIGTERM sets `requested`; a second one ends at once.

    So does SIGHUP, which comes when the terminal is closed, and then more than once. Who ignores it, as nohup
    does, goes on.
    """

    def __init__(self) -> None:
        self.requested = False
        self.previous: dict[int, Any] = {}
        self.terminals = [descriptor for descriptor in (1, 2) if os.isatty(descriptor)]

    def __enter__(self) -> StopRequest:
        # Signals can only be caught in the main thread; elsewhere Ctrl-C keeps its usual meaning.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self.previous[number] = signal.signal(number, self.request)
            if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
                self.previous[signal.SIGHUP] = signal.signal(signal.SIGHUP, self.hang_up)
        return self

    def hang_up(self, number: int, frame: FrameType | None) -> None:
        self.requested = True
        for descriptor in self.terminals:
            if not os.isatty(descriptor):  # it is gone: whatever is said to it from now on would be an error
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, descriptor)
                os.close(nowhere)

    def request(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self.previous.items():
            signal.signal(number, handler)
