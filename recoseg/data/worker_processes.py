"""The same function for many items, in worker processes when that is worth starting them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import wait
from typing import Any, TypeVar

from recoseg.errors import UserError

Item = TypeVar("Item")
Result = TypeVar("Result")
Progress = Callable[[int, int], None]  # items done, items in all

_work: Callable[[Any], Any]  # what a worker process does; set once when it starts


def in_processes(
    work: Callable[[Item], Result], items: Collection[Item], *, num_workers: int, few: int
) -> Iterator[Result]:
    """`work` of every item, in order. Fewer than `few` items, or one worker, are done in this process.

    `work` must pickle; it is sent to each worker once, so it may carry a whole dataset.
    """
    if num_workers <= 1 or len(items) < few:
        yield from map(work, items)
        return
    # A fresh process a worker: forking one that has threads, as this may, can hang.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(num_workers, mp_context=context, initializer=begin, initargs=(work,))
    try:
        with children_ignore_current_folder():
            results = pool.map(do, items, chunksize=16)
        yield from results
    except BrokenProcessPool:
        raise UserError("a worker process died, perhaps for lack of memory: fewer need less") from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


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


def begin(work: Callable[[Any], Any]) -> None:
    """The start of a worker process, which leaves interrupts to its parent."""
    global _work
    _work = work
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()


def end_with_parent() -> None:
    """A parent that was killed cannot end its workers: they would wait for more work forever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def do(item: Any) -> Any:
    return _work(item)
