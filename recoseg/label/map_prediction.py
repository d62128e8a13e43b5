"""A prediction of an image at the size of its feature map, as tiles or masks of the image's own size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recoseg.errors import UserError
from recoseg.label.label_folder import png_of
from recoseg.label.marks import Bytes
from recoseg.label.tiles import TILE, num_levels
from recoseg.types import IGNORE

if TYPE_CHECKING:  # the server makes no predictions, and does without torch
    from torch import Tensor

Places = NDArray[np.float64]
Maps = NDArray[np.float16]
_BAND = 2**18
_RADIUS, _LEAST_VARIANCE = 3, 1e-3
"""Of the guided filter, in cells of the map and in squared grey values from 0 to 1."""


@dataclass(frozen=True)
class MapPrediction:
    """Probabilities of an image's cells, over the classes that the model predicts.

    With a `guide` they are linear functions of it, so that contours follow those of the image: `slopes` times
    the guide, plus `probabilities`.
    """

    probabilities: Maps  # (K, h, w)
    classes: Bytes  # (K,) ids
    version: int
    source: str  # "quick" or "full"
    slopes: Maps | None = None  # (K, h, w)
    guide: Bytes | None = None  # (H, W) the grey image

    @classmethod
    def of(
        cls, probabilities: Tensor, grey: Tensor, *, classes: Sequence[int], version: int, source: str
    ) -> MapPrediction:
        """Of probabilities (K, h, w), with contours that follow the image (H, W) uint8."""
        intercepts, slopes = _guided_filter(probabilities, grey.float() / 255)
        return cls(
            intercepts.half().numpy(),
            np.array(classes, np.uint8),
            version,
            source,
            slopes.half().numpy(),
            grey.numpy(),
        )

    def probabilities_at(self, x: Places, y: Places) -> NDArray[np.float32]:
        """(K, len(y), len(x)) at places in (0, 1), bilinear."""
        mixed = _bilinear(self.probabilities, x, y)
        if self.slopes is not None and self.guide is not None:
            mixed += _bilinear(self.slopes, x, y) * (_bilinear(self.guide[None], x, y) / 255)
            np.clip(mixed, 0, 1, out=mixed)
        return mixed

    def at(self, x: Places, y: Places) -> tuple[Bytes, NDArray[np.float32], NDArray[np.float32]]:
        """Class ids, confidences, margins (len(y), len(x)) at places in (0, 1)."""
        mixed = self.probabilities_at(x, y)
        likeliest = mixed.argmax(0)
        confidence = np.take_along_axis(mixed, likeliest[None], 0)[0]
        np.put_along_axis(mixed, likeliest[None], -1.0, 0)
        margin = confidence - mixed.max(0).clip(0)
        return self.classes[likeliest], confidence, margin

    def tile(self, size: tuple[int, int], level: int, x: int, y: int) -> bytes:
        """A PNG: red is the class id, green the confidence, blue the margin; `size` is (width, height)."""
        width, height = size
        if not 0 <= level < num_levels(width, height):
            raise UserError(f"level: got {level}, this image has 0 to {num_levels(width, height) - 1}")
        columns, rows = (
            (np.arange(place * TILE, min((place + 1) * TILE, -(-side // 2**level))) + 0.5) * 2**level / side
            for place, side in ((x, width), (y, height))
        )
        if min(x, y) < 0 or not len(columns) or not len(rows):
            raise UserError(f"there is no tile {x}, {y} at this level")
        ids, confidence, margin = self.at(columns, rows)
        return png_of(np.stack((ids, _as_byte(confidence), _as_byte(margin)), axis=2))

    def mask(self, size: tuple[int, int], *, above: float = 0.0) -> Bytes:
        """(H, W) class ids, IGNORE where the confidence is below `above`."""
        width, height = size
        result = np.empty((height, width), dtype=np.uint8)
        columns = (np.arange(width) + 0.5) / width
        for rows in bands(height, width):
            ids, confidence, _ = self.at(columns, (np.arange(rows.start, rows.stop) + 0.5) / height)
            result[rows] = np.where(confidence >= above, ids, np.uint8(IGNORE))
        return result


def _guided_filter(values: Tensor, grey: Tensor) -> tuple[Tensor, Tensor]:
    """Fast guided filter (He and Sun, 2015): intercepts and slopes (K, h, w) by a grey image (H, W)."""
    import torch
    import torch.nn.functional as F

    def mean(maps: Tensor) -> Tensor:
        for size, padding in (((side, 1), (_RADIUS, 0)), ((1, side), (0, _RADIUS))):
            maps = F.avg_pool2d(maps, size, 1, padding, count_include_pad=False)
        return maps

    side = 2 * _RADIUS + 1
    powers = torch.cat([grey[None], grey[None] ** 2])  # (2, H, W)
    coarse = F.adaptive_avg_pool2d(powers, (values.shape[1], values.shape[2]))
    middle, square = mean(coarse)
    averages = mean(values)
    slopes = mean(values * coarse[0]) - averages * middle
    slopes = slopes / ((square - middle**2).clamp(min=0) + _LEAST_VARIANCE)
    return mean(averages - slopes * middle), mean(slopes)


def _bilinear(maps: NDArray[np.generic], x: Places, y: Places) -> NDArray[np.float32]:
    """(K, h, w) -> (K, len(y), len(x))"""
    _, height, width = maps.shape
    top, bottom, down = _between(y, height)
    left, right, along = _between(x, width)
    used = np.unique(np.concatenate((top, bottom)))
    rows = maps[:, used].astype(np.float32)
    places = np.searchsorted(used, (top, bottom))
    upper, lower = rows[:, places[0]], rows[:, places[1]]  # (K, len(y), w)
    mixed = upper + (lower - upper) * down[:, None]
    result: NDArray[np.float32] = mixed[:, :, left] + (mixed[:, :, right] - mixed[:, :, left]) * along[None]
    return result


def _between(places: Places, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """For each place the cells before and after it, and how far it is from the one to the other."""
    at = np.clip(places * count - 0.5, 0, count - 1)
    first = at.astype(np.int64)
    return first, np.minimum(first + 1, count - 1), (at - first).astype(np.float32)


def bands(height: int, width: int) -> Iterator[slice]:
    step = max(1, _BAND // width)
    for top in range(0, height, step):
        yield slice(top, min(top + step, height))


def _as_byte(values: NDArray[np.float32]) -> Bytes:
    return np.round(values.clip(0, 1) * 255).astype(np.uint8)
