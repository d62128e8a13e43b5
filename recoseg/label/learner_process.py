"""The learner's process: reads all messages that wait, does a piece of work, and rests when there is none."""

from __future__ import annotations

import os
import signal
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from recoseg.errors import UserError
from recoseg.kept_memory import return_freed_memory
from recoseg.label.messages import Failed, Started

if TYPE_CHECKING:  # the server imports this module to start the process, and does without torch
    from recoseg.label.learner import Learner

_NICENESS = 5


def run_learner(connection: Connection, images: dict[str, Path], folder: Path) -> None:
    """Until the server kills the process, or ends itself and with it the connection."""
    import torch

    from recoseg.label.features import FrozenFeatures, pretrained_encoder
    from recoseg.label.learner import Learner

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server
    os.nice(_NICENESS)
    torch.set_num_threads(1)
    try:
        name, encoder = pretrained_encoder()
    except UserError as error:
        connection.send(Failed(str(error), final=True))
        return
    features = FrozenFeatures(encoder, name=name, folder=folder / "features")
    with suppress(EOFError, OSError):  # the server is gone
        try:
            serve(connection, Learner(images, features, folder, connection.send))
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return
        except Exception as error:
            traceback.print_exc()
            connection.send(Failed(f"{type(error).__name__}: {error}"))


def serve(connection: Connection, learner: Learner) -> None:
    connection.send(Started())
    learner.send_status()
    while True:
        if not learner.jobs:
            return_freed_memory()  # computing features leaves some 200 MB
        while connection.poll(0 if learner.jobs else None):
            learner.receive(connection.recv())
        learner.work()
