"""Rasterize: draw the labels that a tool has for an image as a label image, upright, one class per pixel.

A pixel belongs to a polygon if its centre lies inside. The pixel in column 3 reaches from 3 to 4, and its
centre is at 3.5, in all formats. Polygons along the edges of pixels are exact, so masks survive as polygons.
"""

from __future__ import annotations

import base64
import io
import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

from recoseg.data.image_files import read_label_pixels, stored_size
from recoseg.data.label_codes import ByColour, ByValue, Labels
from recoseg.data.problem import FileError
from recoseg.errors import is_shortage
from recoseg.label_formats.annotation import (
    BACKGROUND,
    UNREADABLE,
    VOID,
    WRONG,
    AnnotatedImage,
    Bitmap,
    Brush,
    Form,
    LabelFile,
    Polygons,
    Ring,
    RunLengths,
    Strokes,
)
from recoseg.label_formats.run_lengths import Mask, mask_of, unpack_brush, unpack_counts
from recoseg.types import IGNORE


class Patch(NamedTuple):
    """A mask somewhere in an image: its first row and column there."""

    top: int
    left: int
    mask: Mask


# Forms to pixels

_MOST_CROSSINGS = 2**23
"""Of edges and rows: these need some 500 MB of memory."""


def fill(ring: Ring, height: int, width: int) -> Patch:
    """Return the pixels inside a polygon; where it covers itself twice, it is a hole."""
    end = np.concatenate((ring[1:], ring[:1]))
    # Edges cross the centre lines of rows first, ..., last - 1; of two that meet on such a line, one does.
    rows = np.ceil(np.stack((ring[:, 1], end[:, 1])) - 0.5).clip(0, height).astype(np.int64)
    crosses = rows[0] != rows[1]
    first, last = rows[:, crosses].min(0), rows[:, crosses].max(0)
    counts = last - first
    total = int(counts.sum())
    if not total:
        return Patch(0, 0, np.zeros((0, 0), dtype=np.bool_))
    if total > _MOST_CROSSINGS:
        raise ValueError("a polygon of too many corners")
    x, y = ring[crosses].T
    slope = (end[crosses, 0] - x) / (end[crosses, 1] - y)
    before = np.cumsum(counts) - counts
    row = np.arange(total) + np.repeat(first - before, counts)  # (crossings,)
    crossing = np.repeat(x - slope * (y - 0.5), counts) + np.repeat(slope, counts) * row
    column = np.ceil(crossing - 0.5).clip(0, width).astype(np.int64)  # the first pixel to the right of it
    top, left = int(row.min()), int(column.min())
    shape = (int(row.max()) + 1 - top, int(column.max()) - left)
    # Row by row, pixels change between outside and inside at each crossing: these are run lengths.
    changes = np.sort((row - top) * shape[1] + (column - left))
    runs = np.diff(changes, prepend=0, append=shape[0] * shape[1])
    return Patch(top, left, np.repeat(np.arange(len(runs)) % 2 == 1, runs).reshape(shape))


def _stroke(points: Ring, thickness: int) -> Iterator[Ring]:
    """Yield a line as a square of `thickness` pixels at each point, and a band between two."""
    half = thickness / 2
    corners = half * np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    # The square consists of whole pixels.
    yield from (np.floor(points) + (0.5 if thickness % 2 else 0.0))[:, None] + corners
    for start, end in pairwise(points):
        along = end - start
        length = float(np.hypot(*along))
        if length:
            aside = half * np.array([-along[1], along[0]]) / length
            yield np.stack((start + aside, end + aside, end - aside, start - aside))


def _fill_all(rings: Iterable[Ring], low: Ring, high: Ring, height: int, width: int) -> Patch:
    """Return the union of polygons between the points `low` and `high`; one at a time is in memory."""
    left, top = np.floor(low).clip(0, (width, height)).astype(int).tolist()
    right, bottom = np.ceil(high).clip(0, (width, height)).astype(int).tolist()
    whole = np.zeros((bottom - top, right - left), dtype=np.bool_)
    for ring in rings:
        patch = fill(ring, height, width)
        rows, columns = patch.mask.shape
        if rows and columns:
            whole[patch.top - top :, patch.left - left :][:rows, :columns] |= patch.mask
    return Patch(top, left, whole)


def rasterize(form: Form, height: int, width: int, thickness: int) -> Patch:
    """Return the pixels of a form for an image of this size; a mask may reach beyond it."""
    match form:
        case Polygons((ring,)):
            return fill(ring, height, width)
        case Polygons(rings):
            return _fill_all(rings, *_limits(rings), height, width)
        case Strokes(lines):
            low, high = _limits(lines)
            bands = (band for line in lines for band in _stroke(line, thickness))
            return _fill_all(bands, low - thickness, high + thickness, height, width)
        case RunLengths():
            # A few bytes may claim gigabytes.
            _require(0 < form.height <= height and 0 < form.width <= width, "a mask larger than its image")
            is_whole = (form.height, form.width) == (height, width)
            _require(is_whole or not form.by_column, "a mask of another size than its image")
            counts = unpack_counts(form.counts) if isinstance(form.counts, str) else form.counts
            flat = mask_of(counts, form.height * form.width)
            order: Literal["F", "C"] = "F" if form.by_column else "C"
            return Patch(form.top, form.left, flat.reshape(form.height, form.width, order=order))
        case Brush():
            _require((form.height, form.width) == (height, width), "a brush of another size than its image")
            values = unpack_brush(form.code, num_values=4 * height * width)
            return Patch(0, 0, values[3::4].reshape(height, width) > 0)
        case Bitmap():
            with Image.open(io.BytesIO(base64.b64decode(form.data)), formats=("PNG",)) as image:
                _require(image.height <= height and image.width <= width, "a mask larger than its image")
                # Black and the first colour of a palette lie outside.
                alpha = image.getchannel("A") if image.mode in ("RGBA", "LA") else image.convert("L")
                pixels = np.asarray(image if image.mode == "P" else alpha)
            return Patch(form.top, form.left, pixels > 0)
        case Path():
            pixels = read_label_pixels(form)
            grey = pixels.max(2) if pixels.ndim == 3 else pixels
            brightest = int(grey.max(initial=0))
            # A mask of 0 and 1 is bright at 1.
            return Patch(0, 0, grey > (brightest // 2 if brightest > 1 else 0))


def _limits(rings: tuple[Ring, ...]) -> tuple[Ring, Ring]:
    """Return the lowest and the highest x, y, (2,) each."""
    points = np.concatenate(rings)
    return points.min(0), points.max(0)


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(what)


# Shapes to a label image

OVERLAPS = {
    "smaller": "where objects overlap, the smaller one is on top",
    "later": "where objects overlap, the tool's front or later object is on top",
    "void": "where objects of two classes overlap, pixels are void",
}
EXIF_RULE = "images that EXIF turns: labels are of the upright image, or as stored if only that size fits"

#: depth of pixels that no object covers, and of those that only a crowd covers
_OPEN, _CROWD = 2**31 - 1, 2**31 - 2
_LATITUDE = 1.0
"""Pixels by which tools overshoot the border of an image."""

_SIDEWAYS = 5
"""The first EXIF orientation that swaps height and width."""

_NOT_DECODED = (
    *WRONG, OSError, SyntaxError, EOFError, struct.error, zlib.error, UnidentifiedImageError,
    Image.DecompressionBombError,
)  # fmt: skip


@dataclass(frozen=True)
class Drawing:
    """Rules for drawing all images. `numbers` are those of classes; objects of other classes are left out."""

    numbers: Mapping[str, int]
    overlap: str
    rest: str
    thickness: int

    def __call__(self, image: AnnotatedImage, photo: Path, notes: Counter[str]) -> Labels:
        """Return (H, W) class indices of the upright photo; `notes` counts what was left out or void."""
        size, orientation = _frame_of(image, photo, notes)
        labels = self._decode(image.labels) if image.labels else self._draw(image, size, notes)
        if orientation == 1:
            return labels
        stored = Image.fromarray(labels)
        stored.getexif()[ExifTags.Base.Orientation] = orientation
        return np.asarray(ImageOps.exif_transpose(stored))

    @property
    def _rest(self) -> int:
        return IGNORE if self.rest == VOID else self.numbers.get(BACKGROUND, IGNORE)

    def _decode(self, file: LabelFile) -> Labels:
        """Read a file of labels in our numbers; the pixels of classes that were not chosen have none."""
        remedy = "correct the mask, or the list of its classes"
        if file.by_colour:
            colours = {colour: self.numbers.get(name, self._rest) for colour, name in file.by_colour.items()}
            return ByColour(colours, remedy=remedy).decode(file.path)
        values = {value: self.numbers.get(name, self._rest) for value, name in file.by_value.items()}
        return ByValue(values, remedy=remedy).decode(file.path)

    def _draw(self, image: AnnotatedImage, size: tuple[int, int], notes: Counter[str]) -> Labels:
        """Draw shapes with a depth per pixel: a pixel belongs to the object with the lowest depth there."""
        height, width = size
        labels = np.full(size, self._rest, dtype=np.uint8)
        depths = np.full(size, _OPEN, dtype=np.int32)
        # Next to points, lines, and an object that may be anywhere, the other pixels are unknown.
        rest_is_known = not image.has_strokes
        shapes = sorted(image.shapes, key=lambda shape: (isinstance(shape.form, Strokes), shape.layer))
        for position, shape in enumerate(shapes):
            number = IGNORE if shape.is_void else self.numbers.get(shape.name)
            if shape.form is None:
                rest_is_known = False
                continue
            if number is None:
                notes["objects of classes that were not chosen: left out"] += 1
                continue
            form = _scaled(shape.form, size) if image.relative else shape.form
            is_crowd = shape.crowd
            try:
                patch = self._patch_of(form, size, Counter() if shape.is_void else notes)
            except _NOT_DECODED as error:
                if isinstance(error, FileError) or is_shortage(error):
                    raise
                notes[UNREADABLE] += 1
                rest_is_known &= shape.place is not None
                is_crowd = True
                patch = self._patch_of(shape.place, size, Counter()) if shape.place else None
            if patch is None:
                continue
            if shape.crowd and not shape.is_void:
                notes["crowd regions: void, beneath single objects"] += 1
            area = int(np.count_nonzero(patch.mask))
            # Points and lines are on top, whatever their area.
            area -= height * width if isinstance(form, Strokes) else 0
            depth = _CROWD if is_crowd else {"smaller": area, "later": -position, "void": 0}[self.overlap]
            self._paint(labels, depths, patch, IGNORE if is_crowd else number, depth)
        if not rest_is_known:
            labels[depths == _OPEN] = IGNORE
        return labels

    def _paint(self, labels: Labels, depths: np.ndarray, patch: Patch, number: int, depth: int) -> None:
        rows, columns = patch.mask.shape
        place = slice(patch.top, patch.top + rows), slice(patch.left, patch.left + columns)
        here, below = labels[place], depths[place]
        wins = patch.mask & (depth <= below)
        clash = wins & (below < _CROWD) & (here != number) if self.overlap == "void" else None
        np.copyto(here, number, where=wins)
        np.copyto(below, depth, where=wins)
        if clash is not None:
            here[clash] = IGNORE

    def _patch_of(self, form: Form, size: tuple[int, int], notes: Counter[str]) -> Patch | None:
        """Return its pixels in the image, or None where it has none; `notes` counts what is outside."""
        height, width = size
        top, left, mask = rasterize(form, height, width, self.thickness)
        if isinstance(form, Polygons | Strokes):
            low, high = _limits(form.rings if isinstance(form, Polygons) else form.lines)
        else:
            low = np.array([left, top], dtype=np.float64)
            high = low + mask.shape[::-1]
        mask = mask[max(-top, 0) :, max(-left, 0) :]
        top, left = max(top, 0), max(left, 0)
        mask = mask[: max(height - top, 0), : max(width - left, 0)]
        if not mask.any():
            is_outside = (high <= 0).any() or (low >= (width, height)).any()
            kind = "outside of their image" if is_outside else "too small to cover the centre of a pixel"
            notes[f"objects {kind}: left out"] += 1
            return None
        if (low < -_LATITUDE).any() or (high > np.add((width, height), _LATITUDE)).any():
            notes["objects that reach beyond their image: cut at its border"] += 1
        return Patch(top, left, mask)


def _scaled(form: Form, size: tuple[int, int]) -> Form:
    """Return a polygon in pixels, from shares of the image."""
    return Polygons(tuple(ring * size[::-1] for ring in form.rings)) if isinstance(form, Polygons) else form


def _frame_of(image: AnnotatedImage, photo: Path, notes: Counter[str]) -> tuple[tuple[int, int], int]:
    """Return the (height, width) that coordinates refer to, and the EXIF orientation of the drawn labels.

    Tools show images upright. So coordinates refer to the upright image, unless only the stored image has the
    size that the tool gives.
    """
    stored, orientation = stored_size(photo)
    upright = stored[::-1] if orientation >= _SIDEWAYS else stored
    if orientation != 1:
        notes[EXIF_RULE] += 1
    stated = image.size
    for path in image.mask_files:
        size, _ = stored_size(path)
        if size != (stated or size):
            what = f"{size[1]}x{size[0]} pixels, other than its image or the other masks of it"
            raise FileError(path, what, "export the mask again at the size of the image")
        stated = size
    if stated is None or stated == upright:
        return upright, 1
    if stated == stored:
        return stored, orientation
    what = f"labels for {stated[1]}x{stated[0]} pixels, but the image has {upright[1]}x{upright[0]}"
    raise FileError(photo, what, "restore the image that was labelled, or export the labels again")
