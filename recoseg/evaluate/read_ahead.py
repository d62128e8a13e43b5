"""Reading the next files while the network is busy with the last ones."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


def read_ahead(items: Iterator[Item]) -> Iterator[Item]:
    """The items, each made in a thread while the one before it is in use; no more than these two exist."""
    end = object()
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="read ahead") as reader:
        coming = reader.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = reader.submit(next, items, end)
            yield item  # type: ignore[misc]
