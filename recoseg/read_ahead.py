"""Making the next items in a thread while the caller is busy with the ones before."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Item = TypeVar("Item")


def read_ahead(items: Iterable[Item], depth: int = 1) -> Iterator[Item]:
    """The items in their order; at most `depth` exist besides the one in use."""
    end: Any = object()
    iterator = iter(items)
    with ThreadPoolExecutor(1, thread_name_prefix="read ahead") as pool:
        try:
            waiting = deque(pool.submit(next, iterator, end) for _ in range(depth))
            while (item := waiting.popleft().result()) is not end:
                waiting.append(pool.submit(next, iterator, end))
                yield item
        finally:
            pool.shutdown(cancel_futures=True)
