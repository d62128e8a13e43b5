"""The canvas that takes image and labels, with the camera and the light of a scene."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from recoseg.data.scenes.random_draws import FINE, Colour, Floats, RandomDraws, as_planes, texture
from recoseg.types import IGNORE

Point = tuple[float, float, float]  # metres: x to the right, up from the ground, depth along the street
Box = tuple[slice, slice]  # rows, columns

# the sun's factors on red, green and blue; the sky at the top and at the horizon; fog a metre; shadow
_WEATHERS: tuple[tuple[Colour, Colour, Colour, float, float], ...] = (
    ((1.05, 1.01, 0.95), (96, 144, 200), (204, 212, 218), 0.003, 0.35),
    ((0.88, 0.9, 0.94), (150, 156, 164), (196, 198, 200), 0.008, 0.06),
    ((0.9, 0.92, 0.94), (186, 190, 192), (204, 206, 206), 0.03, 0.04),
    ((1.0, 0.84, 0.7), (104, 112, 158), (238, 178, 124), 0.008, 0.22),
    ((0.5, 0.52, 0.64), (38, 48, 84), (126, 112, 122), 0.008, 0.06),
)


class Canvas:
    """A float image (3, H, W) from 0 to 255 with labels (H, W); what is painted last lies on top."""

    def __init__(self, height: int, width: int, draws: RandomDraws) -> None:
        self.image = np.zeros((3, height, width), dtype=np.float32)
        self.labels = np.full((height, width), IGNORE, dtype=np.uint8)
        # the centres of the pixels: (H, 1) and (1, W)
        self.rows = np.arange(height, dtype=np.float32)[:, None] + 0.5
        self.columns = np.arange(width, dtype=np.float32)[None, :] + 0.5
        # a pinhole camera `eye` metres above the ground; the others are in pixels
        self.focal = math.sqrt(height * width / 2) * draws.between(1.1, 1.6)
        self.centre = width * draws.between(0.36, 0.64)
        self.horizon = height * draws.between(0.36, 0.52)
        self.eye = draws.between(1.4, 2.4)
        *colours, fog, self.shadow = draws.choice(_WEATHERS)
        self.sun, self.zenith, self.haze = (as_planes(colour) for colour in colours)  # (3, 1, 1)
        self.fog, self.sun_side = fog * draws.between(0.3, 1.2), draws.choice((-1, 1))

    def project(self, point: Point) -> tuple[float, float]:
        """Return the column and row of a point."""
        scale = self.focal / point[2]
        return self.centre + scale * point[0], self.horizon + scale * (self.eye - point[1])

    def box(self, left: float, top: float, right: float, bottom: float) -> Box | None:
        """Return the pixels that a shape with these bounds may touch, or None if all are outside."""
        rows = slice(max(int(top) - 1, 0), min(int(bottom) + 2, self.rows.size))
        columns = slice(max(int(left) - 1, 0), min(int(right) + 2, self.columns.size))
        return (rows, columns) if rows.start < rows.stop and columns.start < columns.stop else None

    def shine(self, colours: Floats, depth: Floats | float, towards: float = 0.0) -> Floats:
        """Return colours (3, h, w) at a depth (h, w), on a face to the left (-), right (+) or front (0)."""
        veil = depth * self.fog / (depth * self.fog + 1.0)  # not 1 - exp(), which differs between machines
        shade = 1.0 - self.shadow if towards * self.sun_side < 0 else 1.0
        return colours * (self.sun * shade) * (1.0 - veil) + self.haze * veil

    def blend(
        self, box: Box, colours: Floats, cover: Floats, label: int | None, opacity: Floats | float = 1.0
    ) -> None:
        """Paint `colours` (3, h, w) and label the pixels of which at least half is covered (h, w)."""
        below = self.image[:, box[0], box[1]]
        below += (colours - below) * (cover * opacity)
        if label is not None:
            self.labels[box][cover >= 0.5] = label

    def polygon(
        self, corners: Sequence[Point], colour: Colour, label: int | None, *, opacity: float = 1.0,
        towards: float = 0.0, is_leafy: bool = False, is_solid: bool = False,
    ) -> None:  # fmt: skip
        """Paint a convex polygon; something solid only if its corners run counter-clockwise.

        A pixel is covered by 0.5 minus its signed distance in pixels; what is narrower than one is fainter.
        """
        points = [self.project(corner) for corner in corners]
        sides = list(zip(points, [*points[1:], points[0]], strict=True))
        area = 0.0  # not sum(), which rounds differently since Python 3.12
        for (x0, y0), (x1, y1) in sides:
            area += (x1 * y0 - x0 * y1) / 2
        xs, ys = zip(*points, strict=True)
        left, top, right, bottom = min(xs), min(ys), max(xs), max(ys)
        longest, box = max(right - left, bottom - top), self.box(left, top, right, bottom)
        if box is None or abs(area) < max(0.25 * longest, 1.0) or (is_solid and area < 0.0):
            return
        edges = []  # the unit vector that points out of each edge, and the distance of the origin
        for (x0, y0), (x1, y1) in sides:
            length = math.sqrt((x1 - x0) * (x1 - x0) + (y1 - y0) * (y1 - y0)) * (1.0 if area > 0.0 else -1.0)
            if length != 0.0:
                across, down = (y0 - y1) / length, (x1 - x0) / length
                edges.append((across, down, -(x0 * across + y0 * down)))
        acrosses, downs, origins = np.array(edges, dtype=np.float32).T[:, :, None, None]  # (edges, 1, 1) each
        rows, columns = self.rows[box[0]], self.columns[:, box[1]]
        distance = np.maximum.reduce(columns * acrosses + (rows * downs + origins))  # (h, w)
        colours, depth = as_planes(colour), corners[0][2]
        if is_leafy:
            metre = 24.0 * depth / self.focal
            leaves = texture(FINE, (rows - top) * metre, (columns - left) * metre)
            distance += (leaves + 1.0) * (0.07 * longest)
            colours = colours * (1.05 + leaves * 0.34 - (rows - top) * (0.3 / longest))
        cover = (0.5 - distance).clip(0.0, min(abs(area) / longest, 1.0))
        self.blend(box, self.shine(colours, depth, towards), cover, label, opacity)
