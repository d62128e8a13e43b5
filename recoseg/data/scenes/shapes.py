"""Shapes on the stage, in metres: figures, which are labelled as a whole, and surfaces with a pattern."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recoseg.data.scenes.paint import BLACK, Colour, Floats, as_planes
from recoseg.data.scenes.stage import Box, Facing, Plane, Point, Stage

# Objects


class Figure:
    """One object: paints shapes over each other at once, and remembers what they cover until `label`.

    Each shape is its signed distance in pixels, negative inside; its pixels are covered by 0.5 - distance.
    `shade` is the share of sunlight; `ghost` shapes (shadows, reflections) are not part of the object,
    `opacity` lets the background through without taking from the object.
    """

    def __init__(self, stage: Stage) -> None:
        self._canvas, self._light = stage.canvas, stage.light
        self._parts: list[tuple[Box, Floats]] = []

    def polygon(
        self, plane: Plane, corners: Sequence[Point], colour: Colour, *,
        shade: float = 1.0, opacity: float = 1.0, ghost: bool = False,
    ) -> None:  # fmt: skip
        """A convex polygon, its corners in either order."""
        points = [plane.at(along, up) for along, up in corners]
        xs, ys = [x for x, _ in points], [y for _, y in points]
        box = self._bounds(min(xs), min(ys), max(xs), max(ys))
        if box is not None:
            cover = _covered(self._polygon_distance(points, box))
            self._paint(box, cover, self._light.on(colour, plane.depth, shade), opacity, ghost)

    def box(
        self, plane: Plane, left: float, low: float, right: float, high: float, colour: Colour, *,
        shade: float = 1.0, opacity: float = 1.0,
    ) -> None:  # fmt: skip
        """A rectangle; where the plane faces the camera that is one on the image too, and quicker to fill."""
        if not isinstance(plane, Facing):
            corners = ((left, low), (right, low), (right, high), (left, high))
            self.polygon(plane, corners, colour, shade=shade, opacity=opacity)
            return
        (x0, y0), (x1, y1) = plane.at(left, high), plane.at(right, low)
        x0, x1 = min(x0, x1), max(x0, x1)
        box = self._bounds(x0, y0, x1, y1)
        if box is not None:
            columns, rows = self._canvas.columns[:, box[1]], self._canvas.rows[box[0]]
            across = np.minimum(columns - (x0 - 0.5), (x1 + 0.5) - columns).clip(0.0, min(x1 - x0, 1.0))
            down = np.minimum(rows - (y0 - 0.5), (y1 + 0.5) - rows).clip(0.0, min(y1 - y0, 1.0))
            self._paint(box, across * down, self._light.on(colour, plane.depth, shade), opacity, False)

    def ellipse(
        self, plane: Plane, centre: Point, across: float, up: float, colour: Colour, *,
        shade: float = 1.0, opacity: float = 1.0, ghost: bool = False, hole: float = 0.0,
    ) -> None:  # fmt: skip
        """An ellipse with the radii `across` and `up`; `hole` is the share of them that is left out."""
        left, right = plane.at(centre[0] - across, centre[1]), plane.at(centre[0] + across, centre[1])
        bottom, top = plane.at(centre[0], centre[1] - up), plane.at(centre[0], centre[1] + up)
        box = self._bounds(min(left[0], right[0]), top[1], max(left[0], right[0]), bottom[1])
        if box is None:
            return
        wide, tall = max(abs(right[0] - left[0]) / 2, 0.2), max(abs(bottom[1] - top[1]) / 2, 0.2)
        x = (self._canvas.columns[:, box[1]] - (left[0] + right[0]) / 2) / wide
        y = (self._canvas.rows[box[0]] - (bottom[1] + top[1]) / 2) / tall
        distance = (np.sqrt(x * x + y * y) - 1.0) * min(wide, tall)
        if hole:
            distance = np.maximum(distance, -distance - (1.0 - hole) * min(wide, tall))
        self._paint(box, _covered(distance), self._light.on(colour, plane.depth, shade), opacity, ghost)

    def limb(
        self, plane: Plane, start: Point, end: Point, thickness: float, colour: Colour, *,
        shade: float = 1.0,
    ) -> None:  # fmt: skip
        """A straight stroke with round ends."""
        (x0, y0), (x1, y1) = plane.at(*start), plane.at(*end)
        radius = abs(plane.at(start[0], start[1] + thickness)[1] - y0) / 2
        box = self._bounds(
            min(x0, x1) - radius, min(y0, y1) - radius, max(x0, x1) + radius, max(y0, y1) + radius
        )
        if box is None:
            return
        x, y = self._canvas.columns[:, box[1]] - x0, self._canvas.rows[box[0]] - y0
        run, rise = x1 - x0, y1 - y0
        square = max(run * run + rise * rise, 1e-6)
        nearest = (x * (run / square) + y * (rise / square)).clip(0.0, 1.0)
        aside, above = x - nearest * run, y - nearest * rise
        distance = np.sqrt(aside * aside + above * above) - radius
        colour = self._light.on(colour, plane.depth, shade)
        self._paint(box, _covered(distance), colour, min(1.0, radius * 2 + 0.2), ghost=False)

    def label(self, label: int, *, outlined: bool = False) -> None:
        """Give everything painted since the last call this label."""
        if self._parts:
            box = _around([part for part, _ in self._parts])
            top, left = box[0].start, box[1].start
            cover = np.zeros((box[0].stop - top, box[1].stop - left), dtype=np.float32)
            for (rows, columns), alpha in self._parts:
                part = cover[rows.start - top : rows.stop - top, columns.start - left : columns.stop - left]
                np.maximum(part, alpha, out=part)
            self._canvas.mark(box, label, cover, outlined=outlined)
            self._parts = []

    def _bounds(self, left: float, top: float, right: float, bottom: float) -> Box | None:
        """The pixels of a shape with these bounds; None also for what is too small to be seen."""
        width, height = right - left, bottom - top
        if width < 0.25 or height < 0.25 or width * height < 1.0:
            return None
        return self._canvas.box(left, top, right, bottom)

    def _polygon_distance(self, points: Sequence[Point], box: Box) -> Floats:
        x, y = self._canvas.columns[:, box[1]], self._canvas.rows[box[0]]
        following = [*points[1:], points[0]]
        area = 0.0  # not sum(), which rounds differently since Python 3.12
        edges = []  # the unit vector that points out of each edge, and how far out the origin lies
        for (x0, y0), (x1, y1) in zip(points, following, strict=True):
            area += x0 * y1 - x1 * y0
            length = math.sqrt((x1 - x0) * (x1 - x0) + (y1 - y0) * (y1 - y0))
            if length > 1e-6:
                right, down = (y1 - y0) / length, (x0 - x1) / length
                edges.append((right, down, -(x0 * right + y0 * down)))
        rights, downs, origins = np.array(edges, dtype=np.float32).T[:, :, None, None]  # (edges, 1, 1) each
        distances = x * rights + (y * downs + origins)  # (edges, h, w)
        farthest: Floats = np.maximum.reduce(distances) if area > 0 else -np.minimum.reduce(distances)
        return farthest

    def _paint(self, box: Box, cover: Floats, colour: Colour, opacity: float, ghost: bool) -> None:
        self._canvas.blend(box, as_planes(colour), cover * opacity if opacity < 1 else cover)
        if not ghost:
            self._parts.append((box, cover))


def _covered(distance: Floats) -> Floats:
    return (0.5 - distance).clip(0.0, 1.0)


def _around(boxes: Sequence[Box]) -> Box:
    rows, columns = [box[0] for box in boxes], [box[1] for box in boxes]
    return (
        slice(min(r.start for r in rows), max(r.stop for r in rows)),
        slice(min(c.start for c in columns), max(c.stop for c in columns)),
    )


@dataclass(frozen=True)
class Spot:
    """A place on the ground, in metres; what is `outlined` has a void border, as careful annotators leave."""

    x: float
    depth: float
    outlined: bool = False


def paint_shadow(stage: Stage, spot: Spot, half_width: float, half_depth: float) -> None:
    """A flat dark ellipse; in sunshine it leans away from the sun. It changes no label."""
    camera, light = stage.camera, stage.light
    flat = half_depth * camera.eye / spot.depth * 2  # how high an ellipse on the ground looks
    lean = -light.sun_side * half_width * light.shadow * 2
    plane = Facing(camera, spot.x, spot.depth)
    figure = Figure(stage)
    figure.ellipse(
        plane,
        (lean, 0.0),
        half_width * (1.0 + light.shadow),
        flat,
        BLACK,
        opacity=0.3 + light.shadow / 2,
        ghost=True,
    )


# Walls


@dataclass(frozen=True)
class Surface:
    """The pixels of an upright rectangle in the world, with metric coordinates to paint a pattern on them.

    Arrays over the pixels of `box`, which broadcast to (h, w).

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
