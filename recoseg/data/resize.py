"""Images and labels at another size: images averaged or filtered, labels taken from the nearest pixel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.sparse import csr_array

from recoseg.errors import UserError
from recoseg.text import lookup

_Pixels = NDArray[np.uint8]

_MOST_PIXELS = 16_384  # a side
_SMALLEST_SCALE, _LARGEST_SCALE = 0.01, 16


@dataclass(frozen=True, kw_only=True)
class Resize:
    """One `size` (height, width) for all, or a `scale` for each; with neither, sizes stay."""

    size: tuple[int, int] | None = None
    scale: float | None = None
    filter: str = "area"

    def __post_init__(self) -> None:
        lookup(_FILTERS, self.filter, what="filter")
        if self.size and self.scale is not None:
            raise UserError("give a height and width or a scale, not both")
        if self.size and not all(1 <= side <= _MOST_PIXELS for side in self.size):
            given = f"{self.size[0]}x{self.size[1]}"
            raise UserError(f"height and width must lie between 1 and {_MOST_PIXELS}, not {given}")
        if self.scale is not None and not _SMALLEST_SCALE <= self.scale <= _LARGEST_SCALE:
            limits = f"{_SMALLEST_SCALE} and {_LARGEST_SCALE}"
            raise UserError(f"the scale must lie between {limits}, not {self.scale:g}")

    def target(self, height: int, width: int) -> tuple[int, int]:
        """Return the new (height, width) of an image of that size."""
        scale = 1.0 if self.scale is None else self.scale
        return self.size or (max(1, round(scale * height)), max(1, round(scale * width)))

    def image(self, pixels: _Pixels) -> _Pixels:
        """(H, W, 3) -> (h, w, 3)."""
        size = self.target(*pixels.shape[:2])
        return pixels if size == pixels.shape[:2] else _FILTERS[self.filter](pixels, size)

    def labels(self, labels: _Pixels) -> _Pixels:
        """(H, W) -> (h, w): the class at the centre of each new pixel."""
        sides = zip(labels.shape, self.target(*labels.shape), strict=True)
        return labels[np.ix_(*((2 * np.arange(new) + 1) * old // (2 * new) for old, new in sides))]


def _average(pixels: _Pixels, size: tuple[int, int]) -> _Pixels:
    """Each pixel the mean of the area that it covers, with the right share of partly covered pixels."""
    (old_height, old_width), (height, width) = pixels.shape[:2], size
    rows = _shares(old_height, height) @ pixels.reshape(old_height, -1).astype(np.float32)  # (h, W * 3)
    columns = rows.reshape(height, old_width, 3).swapaxes(0, 1).reshape(old_width, -1)  # (W, h * 3)
    both = (_shares(old_width, width) @ columns).reshape(width, height, 3).swapaxes(0, 1)
    rounded: _Pixels = np.floor(both + 0.5).astype(np.uint8)
    return rounded


@lru_cache(maxsize=64)
def _shares(old: int, new: int) -> csr_array[np.float32]:
    """(new, old): the share of each old pixel in each of `new` equal parts; nearly all are 0."""
    edges = np.arange(new + 1) * (old / new)
    starts = np.arange(old)
    overlaps = np.minimum(edges[1:, None], starts + 1) - np.maximum(edges[:-1, None], starts)
    return csr_array((overlaps.clip(min=0) * (new / old)).astype(np.float32))


def _antialias(pixels: _Pixels, size: tuple[int, int]) -> _Pixels:
    return np.asarray(Image.fromarray(pixels).resize(size[::-1], Image.Resampling.BILINEAR), dtype=np.uint8)


_FILTERS = {"area": _average, "antialias": _antialias}
