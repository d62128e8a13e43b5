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
    """To one `size` (height, width) for all, or each by `scale`; with neither, sizes stay."""

    size: tuple[int, int] | None = None
    scale: float | None = None
    filter: str = "area"

    def __post_init__(self) -> None:
        lookup(_FILTERS, self.filter, what="filter")
        if self.size and self.scale is not None:
            raise UserError("give a height and width or a scale, not both")
        if self.size and not all(1 <= side <= _MOST_PIXELS for side in self.size):
            raise UserError(
                f"height and width must lie between 1 and {_MOST_PIXELS}, not {self.size[0]}x{self.size[1]}"
            )
        if self.scale is not None and not _SMALLEST_SCALE <= self.scale <= _LARGEST_SCALE:
            between = f"between {_SMALLEST_SCALE} and {_LARGEST_SCALE}"
            raise UserError(f"the scale must lie {between}, not {self.scale:g}")

    def target(self, height: int, width: int) -> tuple[int, int]:
        """The (height, width) that an image of that size gets."""
        scale = 1.0 if self.scale is None else self.scale
        return self.size or (max(1, round(scale * height)), max(1, round(scale * width)))

    def image(self, pixels: _Pixels) -> _Pixels:
        """(H, W, 3) -> (h, w, 3)."""
        size = self.target(*pixels.shape[:2])
        return pixels if size == pixels.shape[:2] else _FILTERS[self.filter](pixels, size)

    def labels(self, labels: _Pixels) -> _Pixels:
        """(H, W) -> (h, w): each pixel the class at its centre."""
        height, width = labels.shape
        new_height, new_width = self.target(height, width)
        return labels[np.ix_(_centres(height, new_height), _centres(width, new_width))]


def _centres(old: int, new: int) -> NDArray[np.int64]:
    """(new,) the pixel among `old` in which the centre of each of `new` equal parts lies."""
    return (2 * np.arange(new) + 1) * old // (2 * new)


def _by_area(pixels: _Pixels, size: tuple[int, int]) -> _Pixels:
    """Each pixel the mean of the area that it covers, parts of pixels counted as such."""
    rows = _mean_along(pixels.astype(np.float32), size[0])  # (h, W, 3)
    both = _mean_along(rows.swapaxes(0, 1), size[1]).swapaxes(0, 1)  # (h, w, 3)
    rounded: _Pixels = np.floor(both + 0.5).astype(np.uint8)
    return rounded


def _mean_along(values: NDArray[np.float32], new: int) -> NDArray[np.float32]:
    """(old, A, B) -> (new, A, B): the means over `new` equal parts of the first axis."""
    old, *others = values.shape
    means: NDArray[np.float32] = _area_weights(old, new) @ values.reshape(old, -1)
    return means.reshape(new, *others)


@lru_cache(maxsize=64)
def _area_weights(old: int, new: int) -> csr_array[np.float32]:
    """(new, old): the share that each old pixel has in each of `new` equal parts; nearly all are 0."""
    edges = np.arange(new + 1) * (old / new)
    starts = np.arange(old)
    overlaps = np.minimum(edges[1:, None], starts + 1) - np.maximum(edges[:-1, None], starts)
    return csr_array((overlaps.clip(min=0) * (new / old)).astype(np.float32))


def _antialiased(pixels: _Pixels, size: tuple[int, int]) -> _Pixels:
    """Bilinear, over as wide a neighbourhood as the reduction asks for."""
    resized = Image.fromarray(pixels).resize(size[::-1], Image.Resampling.BILINEAR)
    return np.asarray(resized, dtype=np.uint8)


_FILTERS = {"area": _by_area, "antialias": _antialiased}
