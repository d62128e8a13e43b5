"""Something done for every label of a dataset, in worker processes where that saves time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from recoseg.data.worker_processes import Progress, in_processes

Result = TypeVar("Result")

NUM_TIMED = 16  # labels that are read here, to see how long one takes
SECONDS_TO_START = 3.0  # of worker processes, which import torch


def over_labels(
    work: Callable[[str], Result], keys: Sequence[str], *, num_workers: int, progress: Progress | None
) -> Iterator[Result]:
    """`work` of every key, in order, with its progress reported."""
    for done, result in enumerate(results(work, keys, num_workers), start=1):
        if progress:
            progress(done, len(keys))
        yield result


def results(work: Callable[[str], Result], keys: Sequence[str], num_workers: int) -> Iterator[Result]:
    first, rest = keys[:NUM_TIMED], keys[NUM_TIMED:]
    start = time.perf_counter()
    yield from [work(key) for key in first]
    alone = (time.perf_counter() - start) / max(len(first), 1) * len(rest)
    saved = alone * (1 - 1 / num_workers)
    yield from in_processes(work, rest, num_workers=num_workers if saved > SECONDS_TO_START else 1, few=1)
