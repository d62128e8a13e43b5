"""Class counts of label files, remembered in a folder and trusted only while the files stay the same."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recoseg.data.files import FileDataset
from recoseg.files import real, write_whole

Row = NDArray[np.int64]  # (K + 1) pixels by class, void last
Stamp = tuple[int, int]  # size in bytes, time of the last change in nanoseconds


class IndexCache:
    """One file for each dataset: told apart by its fingerprint, its place, and how its labels are coded."""

    def __init__(self, folder: Path, dataset: FileDataset) -> None:
        self.dataset = dataset
        place = next((os.fsencode(real(e.labels)) for e in dataset.entries.values() if e.labels), b"")
        parts = [dataset.fingerprint().encode(), place, pickle.dumps(dataset.code, protocol=4)]
        name = hashlib.sha256(b"\n".join(parts)).hexdigest()[:16]
        self.path = folder / f"classes-{name}.npz"
        self.stored: dict[str, tuple[Stamp, Row]] = {}

    def stamps(self, keys: Sequence[str]) -> dict[str, Stamp]:
        """What tells whether a label file changed; a file that is not there has none."""
        stamps = {}
        for key in keys:
            path = self.dataset.entry(key).labels
            with suppress(OSError):
                if path is not None:
                    status = path.stat()
                    stamps[key] = (status.st_size, status.st_mtime_ns)
        return stamps

    def load(self, stamps: Mapping[str, Stamp]) -> dict[str, Row]:
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
        self.stored = dict(zip(keys.tolist(), records, strict=True))
        return {key: row for key, (stamp, row) in self.stored.items() if stamps.get(key) == stamp}

    def save(self, rows: Mapping[str, Row], stamps: Mapping[str, Stamp]) -> None:
        """Best effort: a folder that cannot be written to only means that labels are read again."""
        records = self.stored | {key: (stamps[key], row) for key, row in rows.items() if key in stamps}
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
