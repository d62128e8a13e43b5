"""The server's end of the learner: sends without waiting, limits waiting for answers, restarts what died."""

from __future__ import annotations

import multiprocessing
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from itertools import count
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import SimpleQueue

from recoseg.label.actions import NotNowError
from recoseg.label.map_prediction import MapPrediction
from recoseg.label.messages import Failed, FromLearner, Predict, Predicted, ToLearner

_SECONDS_TO_ANSWER = 120.0
_SECONDS_TO_END = 5.0
_DEATHS, _SECONDS_OF_DEATHS = 3, 300.0
"""A learner that dies that often within that time is not started again."""


def start_process(images: Mapping[str, Path], folder: Path) -> tuple[Connection, BaseProcess]:
    from recoseg.label.learner_process import run_learner

    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    words = (theirs, dict(images), folder)
    process = context.Process(target=run_learner, args=words, name="recoseg learner", daemon=True)
    process.start()
    theirs.close()
    return ours, process


class LearnerClient:
    """Iterate over `messages` in one thread; any thread may `send` and `predict`.

    A new process begins with `Started`: send it all labels, then call `send_requests`.
    """

    def __init__(
        self,
        start: Callable[[], tuple[Connection, BaseProcess]],
        *,
        clock: Callable[[], float] = time.monotonic,
        seconds_to_answer: float = _SECONDS_TO_ANSWER,
    ) -> None:
        self._start, self._clock, self._seconds_to_answer = start, clock, seconds_to_answer
        self._lock = threading.Lock()
        self._requests: dict[int, tuple[str, Future[MapPrediction | None]]] = {}
        self._numbers = count()
        self._num_received = 0
        self._deaths: deque[float] = deque(maxlen=_DEATHS)
        self._over = ""  # why there are no more answers
        self._has_labels = False
        self._outgoing: SimpleQueue[tuple[Connection, ToLearner] | None] = SimpleQueue()
        self._connection, self.process = start()
        threading.Thread(target=self._send_all, name="to the learner", daemon=True).start()

    def send(self, message: ToLearner) -> None:
        self._outgoing.put((self._connection, message))

    def _send_all(self) -> None:
        """In a thread: a pipe blocks while its reader is busy."""
        while (item := self._outgoing.get()) is not None:
            connection, message = item
            with suppress(OSError):  # that process died, and the next one gets all labels
                connection.send(message)

    def messages(self) -> Iterator[FromLearner]:
        """Until `close`, or until the learner has failed for good."""
        reason = ""
        while not self._over:
            try:
                message: FromLearner = self._connection.recv()
            except Exception:  # the process died, perhaps within a message
                if not self._over:
                    yield self._restart(reason)
                reason = ""
                continue
            self._num_received += 1
            if isinstance(message, Predicted) and message.request is not None:
                self._answer(message.request, message.prediction)
            if not isinstance(message, Failed):
                yield message
            elif message.final:
                self._end(message.message)
                yield message
            else:
                reason = message.message

    def _restart(self, reason: str) -> Failed:
        self.process.kill()
        self.process.join(_SECONDS_TO_END)
        reason = f"The learner ended ({reason or _exit_reason(self.process.exitcode)})"
        self._deaths.append(self._clock())
        if len(self._deaths) == _DEATHS and self._deaths[-1] - self._deaths[0] < _SECONDS_OF_DEATHS:
            self._end(f"{reason} {_DEATHS} times. Start recoseg label again.")
            return Failed(self._over, final=True)
        try:
            with self._lock:
                if not self._over:
                    self._has_labels = False
                    self._connection, self.process = self._start()
        except OSError as error:
            self._end(f"{reason} and cannot start again: {error}")
            return Failed(self._over, final=True)
        return Failed(f"{reason} and starts again.")

    def predict(self, image: str) -> MapPrediction | None:
        """Predict any image from the current labels; None before two classes have labels."""
        number, future = next(self._numbers), Future[MapPrediction | None]()
        with self._lock:
            if self._over:
                raise NotNowError(self._over)
            self._requests[number] = image, future
            if self._has_labels:
                self.send(Predict(number, image))
        before = self._num_received
        try:
            return future.result(self._seconds_to_answer)
        except TimeoutError:
            if self._num_received == before:  # it hangs; `messages` starts it again
                self.process.kill()
            limit = f"{self._seconds_to_answer:g} seconds"
            raise NotNowError(f"the learner did not predict {image!r} within {limit}; try again") from None
        finally:
            with self._lock:
                self._requests.pop(number, None)

    def send_requests(self) -> None:
        """The new process has all labels: send it the requests that wait."""
        with self._lock:
            self._has_labels = True
            for number, (image, _) in self._requests.items():
                self.send(Predict(number, image))

    def _answer(self, number: int, prediction: MapPrediction | None) -> None:
        with self._lock:
            _, future = self._requests.pop(number, (None, None))
        if future is not None:
            future.set_result(prediction)

    def _end(self, reason: str) -> None:
        with self._lock:
            self._over = reason
            requests, self._requests = self._requests, {}
        for _, future in requests.values():
            future.set_exception(NotNowError(reason))

    def end_requests(self) -> None:
        self._end("the server ends")

    def close(self) -> None:
        """Whole files appear under their names only when complete, so the process may end at any moment."""
        self.end_requests()
        self._outgoing.put(None)
        self.process.kill()
        self.process.join(_SECONDS_TO_END)


def _exit_reason(code: int | None) -> str:
    if code is not None and code < 0:
        return f"{signal.Signals(-code).name}, possibly out of memory"
    return f"exit code {code}"
