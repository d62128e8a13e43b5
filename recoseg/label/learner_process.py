"""The learner in a process of its own, so that a click never waits for what is computed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from recoseg.errors import UserError

_NICENESS = 5
_SECONDS_TO_END = 5.0

Hear = Callable[[str, dict[str, Any]], None]


class LearnerProcess:
    """`send` it messages; what it tells comes to `hear`, in a thread. It ends when the connection does."""

    def __init__(self, images: Mapping[str, Path], folder: Path, hear: Hear) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._lock = threading.Lock()
        self._process = context.Process(
            target=_serve, args=(theirs, dict(images), folder), name="recoseg learner", daemon=True
        )
        self._process.start()
        theirs.close()
        self._hear = hear
        self._thread = threading.Thread(target=self._listen, name="learner messages", daemon=True)
        self._thread.start()

    def send(self, kind: str, **data: Any) -> None:
        with self._lock, suppress(OSError):  # its end is told by `_listen`
            self._connection.send((kind, data))

    def _listen(self) -> None:
        with suppress(EOFError, OSError):
            while True:
                self._hear(*self._connection.recv())
        self._hear("ended", {})

    def close(self) -> None:
        with self._lock, suppress(OSError):
            self._connection.send(("end", {}))
        self._process.join(_SECONDS_TO_END)
        if self._process.is_alive():
            self._process.kill()


def _serve(connection: Connection, images: dict[str, Path], folder: Path) -> None:
    """The process: hears all that was said before it does the next piece of work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends us
    os.nice(_NICENESS)
    import torch

    from recoseg.label.features import FrozenFeatures, pretrained_encoder
    from recoseg.label.learner import Learner

    torch.set_num_threads(1)

    def tell(kind: str, data: dict[str, Any]) -> None:
        connection.send((kind, data))

    with suppress(EOFError, OSError):  # the server is gone
        try:
            name, encoder = pretrained_encoder()
        except UserError as error:
            tell("failed", {"message": str(error)})
            return
        features = FrozenFeatures(encoder, name=name, folder=folder / "features")
        learner = Learner(images, features, folder, tell)
        learner.tell_status()
        busy = True
        while True:
            while connection.poll(0 if busy else None):
                kind, data = connection.recv()
                if kind == "end":
                    learner.save()
                    return
                learner.hear(kind, data)
            was_busy, busy = busy, learner.work()
            if was_busy and not busy:
                learner.tell_status()
