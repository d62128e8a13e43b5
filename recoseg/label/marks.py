"""Marks as pixels: points, scribbles, polygons and boxes, and the labels that all marks of an image make."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from recoseg.label.journal import Record
from recoseg.types import IGNORE

VOID = 254
"""In labels of this package alone: a person said that none of the classes is there. On disk it is IGNORE."""

MOST_IDS = VOID
NONE, BY_HAND, ACCEPTED, IMPORTED = 0, 1, 2, 3
_HELD_BACK = 0x80
_HELD_BACK_ONE_IN = 5

Bytes = NDArray[np.uint8]
Box = tuple[int, int, int, int]


@dataclass
class Painted:
    """The labels of an image, as its records leave them; classes that are gone included."""

    ids: Bytes  # (H, W) class ids, VOID, IGNORE where there is none
    kinds: Bytes  # (H, W) where a label came from; the highest bit for those held back
    reach: Box | None = None  # left, top, right, bottom of all that was ever painted
    num_misfits: int = 0  # masks of another size, which are left out: the image was replaced

    @classmethod
    def blank(cls, height: int, width: int) -> Painted:
        return cls(np.full((height, width), IGNORE, np.uint8), np.zeros((height, width), np.uint8))

    def part(self, box: Box) -> Painted:
        left, top, right, bottom = box
        return Painted(self.ids[top:bottom, left:right], self.kinds[top:bottom, left:right])

    def _reached(self, left: int, top: int, right: int, bottom: int) -> None:
        old = self.reach or (left, top, right, bottom)
        self.reach = (min(old[0], left), min(old[1], top), max(old[2], right), max(old[3], bottom))

    def paint(self, record: Record) -> None:
        if record["type"] == "mark":
            self._paint_mark(record)
        else:
            mask = unpacked(record["mask"])
            if mask.shape != self.ids.shape:
                self.num_misfits += 1
                return
            self._reached(0, 0, mask.shape[1], mask.shape[0])
            here = (mask != IGNORE) & (self.ids == IGNORE)
            self.ids[here] = mask[here]
            self.kinds[here] = ACCEPTED if record["type"] == "accept" else IMPORTED

    def _paint_mark(self, record: Record) -> None:
        one = record["class"]
        value = IGNORE if one is None else VOID if one == "void" else one
        kind = NONE if one is None else BY_HAND | (_HELD_BACK if is_held_back(record) else 0)
        points = np.array(record["at"], dtype=np.int64)  # (n, 2) x, y
        radius = record.get("radius", 0)
        if record["shape"] == "points" and radius == 0:
            height, width = self.ids.shape
            x, y = points[((points >= 0) & (points < (width, height))).all(1)].T
            self.ids[y, x], self.kinds[y, x] = value, kind
            if len(x):
                self._reached(int(x.min()), int(y.min()), int(x.max()) + 1, int(y.max()) + 1)
            return
        box = _box_of(points, radius, self.ids.shape)
        if box is None:
            return
        self._reached(*box)
        left, top, right, bottom = box
        stencil = _stencil(record["shape"], points - (left, top), radius, (right - left, bottom - top))
        self.ids[top:bottom, left:right][stencil] = value
        self.kinds[top:bottom, left:right][stencil] = kind

    def without(self, classes: Iterable[int]) -> Painted:
        """With labels of these classes alone, and void."""
        keep = np.zeros(256, dtype=bool)
        keep[[*classes, VOID]] = True
        gone = ~keep[self.ids] & (self.ids != IGNORE)
        copy = Painted(self.ids.copy(), self.kinds.copy())
        copy.ids[gone], copy.kinds[gone] = IGNORE, NONE
        return copy

    @property
    def origins(self) -> Bytes:
        return self.kinds & np.uint8(0x7F)

    @property
    def held_back(self) -> NDArray[np.bool_]:
        return self.kinds >= _HELD_BACK


def is_held_back(record: Record) -> bool:
    """One mark in five, by its id, is for judging only where two models are compared."""
    return hashlib.sha256(record["id"].encode()).digest()[0] % _HELD_BACK_ONE_IN == 0


def _box_of(points: NDArray[np.int64], radius: int, shape: tuple[int, ...]) -> Box | None:
    """Left, top, right, bottom of what a mark may reach inside the image."""
    low = np.maximum(points.min(0) - radius, 0)
    high = np.minimum(points.max(0) + radius + 1, (shape[1], shape[0]))
    return None if (low >= high).any() else (int(low[0]), int(low[1]), int(high[0]), int(high[1]))


def _stencil(shape: str, points: NDArray[np.int64], radius: int, size: tuple[int, int]) -> NDArray[np.bool_]:
    """(height, width) of a window, in whose pixels the points are given."""
    if shape == "box":
        return np.ones(size[::-1], dtype=bool)  # the window of two corners is the box
    canvas = Image.new("L", size)
    draw = ImageDraw.Draw(canvas)
    corners = [(int(x), int(y)) for x, y in points]
    if shape == "polygon" and len(corners) > 2:
        draw.polygon(corners, fill=1, outline=1)
    elif shape in ("scribble", "polygon") and len(corners) > 1:
        draw.line(corners, fill=1, width=2 * radius + 1 if shape == "scribble" else 1)
    draw.point(corners, fill=1)
    if radius and shape != "polygon":
        for x, y in corners:  # round ends and corners; discs of points
            draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=1)
    return np.asarray(canvas, dtype=bool)


# Masks inside of records


def packed(ids: Bytes) -> str:
    """(H, W) as text: a PNG in base64."""
    file = io.BytesIO()
    Image.fromarray(ids).save(file, "PNG", compress_level=6)
    return base64.b64encode(file.getvalue()).decode()


def unpacked(mask: str) -> Bytes:
    with Image.open(io.BytesIO(base64.b64decode(mask)), formats=["PNG"]) as image:
        return np.array(image, dtype=np.uint8)
