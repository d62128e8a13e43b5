"""The image and labels under construction, and a camera and a light to construct them with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recoseg.data.scenes.camera import Camera
from recoseg.data.scenes.light import Floats, Light
from recoseg.types import IGNORE

Box = tuple[slice, slice]  # rows, columns


class Canvas:
    """A float image (3, H, W) from 0 to 255 with labels (H, W); what is painted last lies on top."""

    def __init__(self, height: int, width: int) -> None:
        self.height, self.width = height, width
        self.image = np.zeros((3, height, width), dtype=np.float32)
        self.labels = np.full((height, width), IGNORE, dtype=np.uint8)
        self.rows = np.arange(height, dtype=np.float32)[:, None] + 0.5  # (H, 1): the centres of the pixels
        self.columns = np.arange(width, dtype=np.float32)[None, :] + 0.5  # (1, W)

    def box(self, left: float, top: float, right: float, bottom: float) -> Box | None:
        """The pixels that a shape with these bounds may touch, or None if all are outside."""
        first_row, last_row = max(int(top) - 1, 0), min(int(bottom) + 2, self.height)
        first_column, last_column = max(int(left) - 1, 0), min(int(right) + 2, self.width)
        if first_row >= last_row or first_column >= last_column:
            return None
        return slice(first_row, last_row), slice(first_column, last_column)

    def blend(self, box: Box, colour: Floats, opacity: Floats) -> None:
        """Cover the image in `box` with `colour` (3, h, w) to the degree `opacity` (h, w)."""
        below = self.image[:, box[0], box[1]]
        change = colour - below
        change *= opacity
        below += change

    def mark(self, box: Box, label: int, cover: Floats, *, outlined: bool = False) -> None:
        """Label the pixels that are covered by half; with `outlined`, those covered by less become void."""
        below = self.labels[box]
        if outlined:
            below[cover > 0.02] = IGNORE
        below[cover >= 0.5] = label


@dataclass(frozen=True)
class Stage:
    """What every painter needs."""

    canvas: Canvas
    camera: Camera
    light: Light
