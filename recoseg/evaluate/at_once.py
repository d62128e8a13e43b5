"""Several images at once, a thread each, where that is quicker than several threads for one image."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import torch
from torch import nn

from recoseg.models.base import SegmentationNetwork

Item = TypeVar("Item")
Result = TypeVar("Result")


def how_many_at_once(model: nn.Module, device: torch.device) -> int:
    """As many as torch has threads, on a CPU, for networks whose passes do not disturb each other; else 1.

    Two threads bring one small image through a network in four fifths of the time of one; two images, each
    with a thread of its own, take half the time.
    """
    apart = isinstance(model, SegmentationNetwork) and model.passes_are_apart
    return torch.get_num_threads() if device.type == "cpu" and apart else 1


def in_threads(
    function: Callable[[Item], Result], items: Iterable[Item], *, num_threads: int
) -> Iterator[Result]:
    """function(item) of each, in their order. In each thread torch has no further threads.

    No more items are taken than the threads are busy with, and one.
    """
    if num_threads == 1:
        yield from map(function, items)
        return
    own_threads = torch.get_num_threads()
    waiting: deque[Future[Result]] = deque()
    try:
        with ThreadPoolExecutor(num_threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) > num_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
    finally:
        torch.set_num_threads(own_threads)
