"""How many pixels of each class each labelled image has: read once, remembered, checked against the files."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recoseg.data.dataset import Dataset
from recoseg.data.file_dataset import FileDataset
from recoseg.data.worker_processes import Progress, in_processes_if_slow, num_readers
from recoseg.files import real, write_whole
from recoseg.types import IGNORE

_Row = NDArray[np.int64]  # (K + 1) pixels by class, void last
_Stamp = tuple[int, int]  # size in bytes, time of the last change in nanoseconds


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
            return ClassIndex(tuple(keys), self._read(dataset, keys))
        cache = IndexCache(self.cache, dataset)
        stamps = cache.stamps(keys)
        known = cache.load(stamps)
        missing = [key for key in keys if key not in known]
        if missing:
            known |= dict(zip(missing, self._read(dataset, missing), strict=True))
            cache.save(known, stamps)
        width = len(dataset.classes) + 1
        rows = [known[key] for key in keys]
        return ClassIndex(tuple(keys), np.stack(rows) if rows else np.zeros((0, width), dtype=np.int64))

    def _read(self, dataset: Dataset, keys: Sequence[str]) -> NDArray[np.int64]:
        """(N, K + 1) counts from the labels themselves."""
        table = np.zeros((len(keys), len(dataset.classes) + 1), dtype=np.int64)
        rows = in_processes_if_slow(
            _CountPixels(dataset), keys, num_workers=self.num_workers, progress=self.progress
        )
        for number, row in enumerate(rows):
            table[number] = row
        return table


@dataclass(frozen=True)
class _CountPixels:
    """(K + 1) pixels by class of one image, void last."""

    dataset: Dataset

    def __call__(self, key: str) -> NDArray[np.int64]:
        counts = np.bincount(self.dataset.labels(key).numpy().ravel(), minlength=IGNORE + 1)
        return np.append(counts[: len(self.dataset.classes)], counts[IGNORE])


# Remembered in a folder, and trusted only while the files stay the same


class IndexCache:
    """One file for each dataset: told apart by its fingerprint, its place, and how its labels are coded."""

    def __init__(self, folder: Path, dataset: FileDataset) -> None:
        self.dataset = dataset
        place = next((os.fsencode(real(e.labels)) for e in dataset.entries.values() if e.labels), b"")
        parts = [dataset.fingerprint().encode(), place, pickle.dumps(dataset.code, protocol=4)]
        name = hashlib.sha256(b"\n".join(parts)).hexdigest()[:16]
        self.path = folder / f"classes-{name}.npz"
        self._stored: dict[str, tuple[_Stamp, _Row]] = {}

    def stamps(self, keys: Sequence[str]) -> dict[str, _Stamp]:
        """What tells whether a label file changed; a file that is not there has none."""
        stamps = {}
        for key in keys:
            path = self.dataset.entry(key).labels
            with suppress(OSError):
                if path is not None:
                    status = path.stat()
                    stamps[key] = (status.st_size, status.st_mtime_ns)
        return stamps

    def load(self, stamps: Mapping[str, _Stamp]) -> dict[str, _Row]:
        """The rows of those keys whose files are as they were; none if the cache is missing or damaged."""
        try:
            with np.load(self.path, allow_pickle=False) as content:
                keys, old, table = (content[name] for name in ("keys", "stamps", "pixels"))
            shapes = (keys.ndim, old.shape, table.shape)
            fits = shapes == (1, (len(keys), 2), (len(keys), len(self.dataset.classes) + 1))
            kinds = (keys.dtype.kind, old.dtype, table.dtype)
            if not fits or kinds != ("U", np.int64, np.int64) or table.min(initial=0) < 0:
                return {}
        except Exception:  # what a damaged file raises depends on where it is damaged
            return {}
        records = zip(map(tuple, old.tolist()), table, strict=True)
        self._stored = dict(zip(keys.tolist(), records, strict=True))
        return {key: row for key, (stamp, row) in self._stored.items() if stamps.get(key) == stamp}

    def save(self, rows: Mapping[str, _Row], stamps: Mapping[str, _Stamp]) -> None:
        """Best effort: a folder that cannot be written to only means that labels are read again."""
        records = self._stored | {key: (stamps[key], row) for key, row in rows.items() if key in stamps}
        if not records:
            return
        buffer = io.BytesIO()
        np.savez(
            buffer,
            keys=np.array(list(records)),
            stamps=np.array([stamp for stamp, _ in records.values()], dtype=np.int64),
            pixels=np.stack([row for _, row in records.values()]),
        )
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self.path, buffer.getvalue())


def class_counter(*, num_workers: int | None = None, progress: Progress | None = None) -> ClassCounter:
    """Counts classes in several processes, and remembers them in the user's cache folder."""
    num_workers = num_workers or num_readers()
    return ClassCounter(num_workers=num_workers, progress=progress, cache=cache_folder())


def cache_folder() -> Path:
    """The user's folder of what can be computed again; it need not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "recoseg"
