"""A file of events for TensorBoard, written as they come.

torch's own writer has a thread do it: a disk that is full is then a traceback of that thread.
"""

from __future__ import annotations

import itertools
import os
import socket
import time
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.summary.writer.record_writer import RecordWriter
from torch import Tensor
from torch.utils.tensorboard import summary

from recoseg.files import naming

numbers = itertools.count()


class EventFile:
    """A new file in a folder. TensorBoard forgets what other files there have from iteration `start` on."""

    def __init__(self, folder: Path, *, start: int) -> None:
        name = f"{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{next(numbers)}"
        self.path = folder / f"events.out.tfevents.{name}"
        self.records = RecordWriter(self.path.open("wb"))
        self.add(Event(step=start, file_version="brain.Event:2"))
        self.add(Event(step=start, session_log=SessionLog(status=SessionLog.START)))

    def add(self, event: Any) -> None:
        event.wall_time = time.time()
        with naming(self.path):
            self.records.write(event.SerializeToString())
            self.records.flush()

    def add_scalar(self, name: str, value: float, iteration: int) -> None:
        self.add(Event(step=iteration, summary=summary.scalar(name, value)))  # type: ignore[no-untyped-call]

    def add_image(self, name: str, image: Tensor, iteration: int) -> None:
        """(3, H, W) in [0, 1]."""
        picture = summary.image(name, image, dataformats="CHW")  # type: ignore[no-untyped-call]
        self.add(Event(step=iteration, summary=picture))

    def close(self) -> None:
        with naming(self.path):
            self.records.close()
