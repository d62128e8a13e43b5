"""How many pixels of each class each labelled image has: read once, remembered, checked against the files."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recoseg.data.base import Dataset
from recoseg.data.files import FileDataset
from recoseg.data.worker_processes import Progress
from recoseg.splits.index_cache import IndexCache
from recoseg.splits.over_labels import over_labels
from recoseg.types import IGNORE


@dataclass(frozen=True, eq=False)
class ClassIndex:
    """What labelled images hold: `pixels[n, k]` of class k in image `keys[n]`, void in the last column."""

    keys: tuple[str, ...]
    pixels: NDArray[np.int64]  # (N, K + 1)

    @property
    def counts(self) -> NDArray[np.int64]:
        """(N, K) pixels by class, without void."""
        return self.pixels[:, :-1]

    @property
    def presence(self) -> NDArray[np.bool_]:
        """(N, K) whether the image holds the class."""
        present: NDArray[np.bool_] = self.counts > 0
        return present

    def of(self, keys: Collection[str]) -> ClassIndex:
        """The part of it that is about these keys, in its own order."""
        wanted = set(keys)
        rows = [row for row, key in enumerate(self.keys) if key in wanted]
        return ClassIndex(tuple(self.keys[row] for row in rows), self.pixels[rows])


@dataclass(frozen=True, kw_only=True)
class ClassCounter:
    """Counts the classes of a dataset's labels, in worker processes where there are many.

    `cache` is a folder that remembers what the label files held; without one they are read every time.
    """

    num_workers: int = 1
    progress: Progress | None = None
    cache: Path | None = None

    def __call__(self, dataset: Dataset, keys: Sequence[str]) -> ClassIndex:
        """The index of these keys, all of which must have labels."""
        if self.cache is None or not isinstance(dataset, FileDataset):
            return ClassIndex(tuple(keys), self.read(dataset, keys))
        cache = IndexCache(self.cache, dataset)
        stamps = cache.stamps(keys)
        known = cache.load(stamps)
        missing = [key for key in keys if key not in known]
        if missing:
            known |= dict(zip(missing, self.read(dataset, missing), strict=True))
            cache.save(known, stamps)
        width = len(dataset.classes) + 1
        rows = [known[key] for key in keys]
        return ClassIndex(tuple(keys), np.stack(rows) if rows else np.zeros((0, width), dtype=np.int64))

    def read(self, dataset: Dataset, keys: Sequence[str]) -> NDArray[np.int64]:
        """(N, K + 1) counts from the labels themselves."""
        table = np.zeros((len(keys), len(dataset.classes) + 1), dtype=np.int64)
        rows = over_labels(CountPixels(dataset), keys, num_workers=self.num_workers, progress=self.progress)
        for number, row in enumerate(rows):
            table[number] = row
        return table


@dataclass(frozen=True)
class CountPixels:
    """(K + 1) pixels by class of one image, void last."""

    dataset: Dataset

    def __call__(self, key: str) -> NDArray[np.int64]:
        counts = np.bincount(self.dataset.labels(key).numpy().ravel(), minlength=IGNORE + 1)
        return np.append(counts[: len(self.dataset.classes)], counts[IGNORE])
