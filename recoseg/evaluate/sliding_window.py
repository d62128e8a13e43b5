"""Sliding windows: images of any size, whose windows overlap and are blended, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil

import torch
import torch.nn.functional as F
from torch import Tensor

Look = Callable[[Tensor], Tensor]
"""(B, 3, h, w) uint8 -> logits (B, K, h, w)."""


@dataclass(frozen=True)
class Block:
    """A part of an image, finished."""

    rows: slice
    columns: slice
    logits: Tensor  # (B, K, rows, columns)


@dataclass(frozen=True)
class Steps:
    """Where windows stand along one side of an image, and how much each counts there."""

    size: int
    starts: tuple[int, ...]
    weights: Tensor  # (number of windows, size); those of all windows sum to 1 at every pixel

    @classmethod
    def along(cls, length: int, size: int, overlap: float) -> Steps:
        """Windows of `size`, evenly spaced, of which neighbours share at least `overlap` of their length."""
        size = min(size, length)
        step = max(1, int(size * (1 - overlap)))
        count = ceil((length - size) / step) + 1
        starts = tuple(round(number * (length - size) / max(1, count - 1)) for number in range(count))
        # A window counts less and less towards its ends, where it sees only one side of things.
        ramp = torch.arange(1, size + 1, dtype=torch.float64)
        tent = torch.minimum(ramp, ramp.flip(0)).clamp(max=max(1, size - step))
        total = torch.zeros(length, dtype=torch.float64)
        for start in starts:
            total[start : start + size] += tent
        weights = torch.stack([tent / total[start : start + size] for start in starts])
        return cls(size, starts, weights.float())


def blended(
    look: Look, images: Tensor, *, window: tuple[int, int], overlap: float, most_columns: int | None = None
) -> Iterator[Block]:
    """The logits of `images` (B, 3, H, W) uint8, from the top down, each pixel in one block.

    Only a band as high as a window is held. `most_columns` bounds its width: a wider image is done in strips
    one after another, at the cost of looking twice at windows that two strips share. The result is the same.
    """
    height, width = images.shape[2:]
    down, across = Steps.along(height, window[0], overlap), Steps.along(width, window[1], overlap)
    if len(down.starts) == len(across.starts) == 1:
        yield Block(slice(0, height), slice(0, width), look(images))
        return
    num_strips = ceil(width / (most_columns or width))
    for number in range(num_strips):
        columns = slice(number * width // num_strips, (number + 1) * width // num_strips)
        yield from _blended_strip(look, images, down, across, columns)


def _blended_strip(look: Look, images: Tensor, down: Steps, across: Steps, strip: slice) -> Iterator[Block]:
    """The blocks of the columns in `strip`."""
    height = images.shape[2]
    band: Tensor | None = None  # (B, K, window height, strip): from the top of the current row of windows
    for row, top in enumerate(down.starts):
        for column, left in enumerate(across.starts):
            right = left + across.size
            if right <= strip.start or left >= strip.stop:
                continue
            logits = look(images[:, :, top : top + down.size, left:right])  # (B, K, window)
            weights = (down.weights[row][:, None] * across.weights[column]).to(logits)
            if band is None:
                band = logits.new_zeros(*logits.shape[:3], strip.stop - strip.start)
            first, last = max(left, strip.start), min(right, strip.stop)
            inside = slice(first - left, last - left)
            band[:, :, :, first - strip.start : last - strip.start].addcmul_(
                logits[..., inside], weights[:, inside]
            )
        assert band is not None
        is_last = row == len(down.starts) - 1
        done = (height if is_last else down.starts[row + 1]) - top  # rows that no later window reaches
        yield Block(slice(top, top + done), strip, band[:, :, :done])
        if not is_last:
            band = F.pad(band[:, :, done:], (0, 0, 0, done))
