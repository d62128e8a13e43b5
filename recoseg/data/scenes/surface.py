"""The pixels of an upright rectangle in the world, with metric coordinates for painting a pattern on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recoseg.data.scenes.canvas import Box, Stage
from recoseg.data.scenes.light import Floats


@dataclass(frozen=True)
class Surface:
    """Arrays over the pixels of `box`, which broadcast to (h, w).

    Where the surface faces the camera, `up` and `up_pixels` are the same in every column, and one wide.
    """

    box: Box
    depth: Floats  # (1, w) metres
    along: Floats  # (1, w) metres
    up: Floats  # (h, w) metres
    along_pixels: Floats  # (1, w) pixels per metre along
    up_pixels: Floats  # (1, w) pixels per metre up
    edge: Floats  # (1, w) how much of the column lies on the surface, 0 to 1

    def below(self, height: Floats | float) -> Floats:
        """(h, w): how much of a pixel lies between the ground and `height`, 0 to 1."""
        upper = (height - self.up) * self.up_pixels + 0.5
        lower = self.up * self.up_pixels + 0.5
        return np.minimum(upper, lower).clip(0.0, 1.0) * self.edge

    def above(self, height: float) -> Floats:
        """(h, w): how much of a pixel lies above `height`, 0 to 1."""
        return ((self.up - height) * self.up_pixels + 0.5).clip(0.0, 1.0)

    def columns(self, pitch: float, share: float, margin: float = 0.0) -> Floats:
        """(1, w): upright bars over the middle `share` of each `pitch` metres and `margin` metres around."""
        return _bars(self.along, self.along_pixels, pitch, share, margin)

    def courses(self, pitch: float, share: float, margin: float = 0.0, start: float = 0.0) -> Floats:
        """(h, w): the same lying down; the first course begins at the height `start`."""
        return _bars(self.up - start, self.up_pixels, pitch, share, margin)


def _bars(position: Floats, pixels: Floats, pitch: float, share: float, margin: float) -> Floats:
    """Bars too fine to be seen blur together: there, the result is the share that they cover."""
    phase = position * (1.0 / pitch)
    phase -= np.floor(phase) + 0.5  # -0.5 to 0.5, 0 in the middle of a bar
    half = share * pitch / 2 + margin
    share = min(half * 2 / pitch, 1.0)
    sharp: Floats = ((half - np.abs(phase) * pitch) * pixels + 0.5).clip(0.0, 1.0)
    sharp -= share
    sharp *= (pixels * (pitch / 2) - 0.5).clip(0.0, 1.0)  # how well it is seen
    sharp += share
    return sharp


def receding_surface(stage: Stage, x: float, near: float, far: float, height: float) -> Surface | None:
    """The wall at `x` beside the street, from depth `near` to `far`; None if it is out of the picture."""
    camera, canvas = stage.camera, stage.canvas
    inner, outer = camera.x(x, far), camera.x(x, near)
    left, right = min(inner, outer), max(inner, outer)
    box = canvas.box(left, camera.y(height, near) - 1, right, camera.y(0, near) + 1)
    if box is None or right - left < 0.5:
        return None
    columns = canvas.columns[:, box[1]]
    aside = np.maximum(np.abs(columns - camera.centre), 0.5)  # (1, w)
    depth = (camera.focal * abs(x) / aside).clip(near, far)
    return Surface(
        box=box,
        depth=depth,
        along=depth - near,
        up=camera.eye - (canvas.rows[box[0]] - camera.horizon) * (depth / camera.focal),
        along_pixels=camera.focal * abs(x) / (depth * depth),
        up_pixels=camera.focal / depth,
        edge=(np.minimum(columns - left, right - columns) + 0.5).clip(0.0, 1.0),
    )


def facing_surface(stage: Stage, left: float, right: float, depth: float, height: float) -> Surface | None:
    """The wall that faces the camera at `depth`, from x = `left` to `right`."""
    camera, canvas = stage.camera, stage.canvas
    first, last = camera.x(left, depth), camera.x(right, depth)
    box = canvas.box(first, camera.y(height, depth) - 1, last, camera.y(0, depth) + 1)
    if box is None or last - first < 0.5:
        return None
    columns, rows, scale = canvas.columns[:, box[1]], canvas.rows[box[0]], camera.focal / depth
    return Surface(
        box=box,
        depth=np.full_like(columns, depth),
        along=(columns - first) / scale,
        up=camera.eye - (rows - camera.horizon) / scale,
        along_pixels=np.full_like(columns, scale),
        up_pixels=np.full((1, 1), scale, dtype=np.float32),
        edge=(np.minimum(columns - first, last - columns) + 0.5).clip(0.0, 1.0),
    )
