"""The same function for many items, in worker processes when that is worth starting them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import resource_tracker, spawn
from multiprocessing.connection import wait
from typing import Any, TypeVar

from recoseg.errors import UserError

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
Progress = Callable[[int, int], None]  # items done, items in all

NUM_TIMED = 16  # items that are done here, to see how long one takes
SECONDS_TO_START = 3.0  # of worker processes, which import torch

_QUIET_START = """
import os, pickle
try:
    {}
except (EOFError, pickle.UnpicklingError):
    if os.getppid() == {parent}:
        raise
"""

_work: Callable[[Any], Any]  # what a worker process does; set once when it starts


def num_readers() -> int:
    """Processes that read files side by side."""
    return min(os.cpu_count() or 1, 8)


def in_processes(
    work: Callable[[_Item], _Result], items: Collection[_Item], *, num_workers: int, few: int
) -> Iterator[_Result]:
    """`work` of every item, in order. Fewer than `few` items, or one worker, are done in this process.

    `work` must pickle; it is sent to each worker once, so it may carry a whole dataset.
    """
    if num_workers <= 1 or len(items) < few:
        yield from map(work, items)
        return
    # A fresh process a worker: forking one that has threads, as this may, can hang.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(num_workers, mp_context=context, initializer=_begin, initargs=(work,))
    try:
        with children_ignore_current_folder(), silent_orphans():
            results = pool.map(_do, items, chunksize=16)
        yield from results
    except BrokenProcessPool:
        raise UserError("a worker process died, perhaps for lack of memory: fewer need less") from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def in_processes_if_slow(
    work: Callable[[_Item], _Result], items: Sequence[_Item], *, num_workers: int, progress: Progress | None
) -> Iterator[_Result]:
    """`work` of every item, in order, with its progress reported; in worker processes if that saves time."""
    for done, result in enumerate(_timed(work, items, num_workers), start=1):
        if progress:
            progress(done, len(items))
        yield result


def _timed(work: Callable[[_Item], _Result], items: Sequence[_Item], num_workers: int) -> Iterator[_Result]:
    first, rest = items[:NUM_TIMED], items[NUM_TIMED:]
    start = time.perf_counter()
    yield from [work(item) for item in first]
    alone = (time.perf_counter() - start) / max(len(first), 1) * len(rest)
    saved = alone * (1 - 1 / num_workers)
    yield from in_processes(work, rest, num_workers=num_workers if saved > SECONDS_TO_START else 1, few=1)


@contextmanager
def children_ignore_current_folder() -> Iterator[None]:
    """For Python processes started within it, as by `python -P`.

    They begin with imports, before they are told where their parent found its modules: a yaml.py that lies
    where the user happens to be must not be taken for one of these.
    """
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        os.environ.pop("PYTHONSAFEPATH")
        if before is not None:
            os.environ["PYTHONSAFEPATH"] = before


def _begin(work: Callable[[Any], Any]) -> None:
    """The start of a worker process, which leaves interrupts to its parent."""
    global _work
    _work = work
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()


def end_with_parent() -> None:
    """For a worker process: a parent that was killed cannot end it, and it would wait for work forever."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            wait([parent.sentinel])
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def silent_orphans() -> Iterator[None]:
    """Processes that are started within it say nothing should this one be killed while they begin.

    Else there would be the traceback of a worker that could not read what it shall do, and a warning of the
    process that clears up after both.
    """
    original, unheard = spawn.get_command_line, "ignore:resource_tracker:UserWarning"

    def command_line(**words: Any) -> list[str]:
        command = original(**words)
        place = command.index("-c") + 1
        command[place] = _QUIET_START.format(command[place], parent=os.getpid())
        return command

    sys.warnoptions.append(unheard)
    spawn.get_command_line = command_line
    try:
        resource_tracker.ensure_running()
        yield
    finally:
        spawn.get_command_line = original
        sys.warnoptions.remove(unheard)


def _do(item: Any) -> Any:
    return _work(item)
