"""Probabilities of all classes in a .npy file, written part by part: they may be larger than the memory."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Place = tuple[slice, slice, slice]


class ProbabilitiesFile:
    """A file of (K, H, W) float16 that parts are put into as into an array."""

    def __init__(self, path: Path, shape: tuple[int, int, int]) -> None:
        self.path = path
        np.lib.format.open_memmap(path, mode="w+", dtype=np.float16, shape=shape)
        if hasattr(os, "posix_fallocate"):  # a full disk is told now; later it would end the process
            with path.open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)

    def __setitem__(self, place: Place, values: NDArray[np.float32]) -> None:
        # Mapped anew each time: pages that were written would count as this process's memory.
        np.load(self.path, mmap_mode="r+")[place] = values
