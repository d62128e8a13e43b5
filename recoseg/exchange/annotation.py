"""The nouns: the labels that a tool has for an image, whatever the tool.

A reader of a format makes these and nothing else; `drawing` makes label images of them. Forms keep what the
tool wrote, packed as it was, until they are drawn: so they are small, and travel to other processes.
"""

from __future__ import annotations

import base64
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from recoseg.colours import Colour
from recoseg.data.image_files import read_label_pixels
from recoseg.exchange.rasterise import Patch, Ring, fill, joined, limits_of, stroke
from recoseg.exchange.run_lengths import mask_of, unpack_brush, unpack_counts

BACKGROUND, VOID = "background", "void"
_MOST_POINTS = 20_000  # of lines: each is drawn by itself


@dataclass(frozen=True)
class Polygons:
    """One or more rings, each a polygon; the object is all of them."""

    rings: tuple[Ring, ...]

    def patch(self, height: int, width: int, thickness: int) -> Patch:
        patches = (fill([ring], height, width) for ring in self.rings)
        return next(patches) if len(self.rings) == 1 else joined(patches, *self.limits(), height, width)

    def limits(self) -> tuple[Ring, Ring]:
        return limits_of(self.rings)


@dataclass(frozen=True)
class Strokes:
    """Lines, and points, which are lines of one point: they say nothing of the pixels around them."""

    lines: tuple[Ring, ...]

    def __post_init__(self) -> None:
        if sum(map(len, self.lines)) > _MOST_POINTS:
            raise ValueError(f"lines of more than {_MOST_POINTS} points")

    def patch(self, height: int, width: int, thickness: int) -> Patch:
        low, high = self.limits()
        patches = (patch for line in self.lines for patch in stroke(line, thickness, height, width))
        return joined(patches, low - thickness, high + thickness, height, width)

    def limits(self) -> tuple[Ring, Ring]:
        return limits_of(self.lines)


@dataclass(frozen=True)
class RunLengths:
    """A mask of (height, width) at a place; `counts` as numbers, or as COCO's compressed string."""

    counts: NDArray[np.int64] | str
    height: int
    width: int
    by_column: bool
    top: int = 0
    left: int = 0

    def patch(self, height: int, width: int, thickness: int) -> Patch:
        _require_inside(self.height, self.width, height, width)
        if self.by_column and (self.height, self.width) != (height, width):
            raise ValueError("a mask of another size than its image")
        counts = unpack_counts(self.counts) if isinstance(self.counts, str) else self.counts
        flat = mask_of(counts, self.height * self.width)
        mask = flat.reshape(self.height, self.width, order="F" if self.by_column else "C")
        return Patch(self.top, self.left, mask)


@dataclass(frozen=True)
class Brush:
    """Label Studio's: an RGBA image of (height, width), whose alpha is the mask."""

    code: bytes
    height: int
    width: int

    def patch(self, height: int, width: int, thickness: int) -> Patch:
        if (self.height, self.width) != (height, width):
            raise ValueError("a brush of another size than its image")
        values = unpack_brush(self.code, num_values=4 * self.height * self.width)
        return Patch(0, 0, values[3::4].reshape(self.height, self.width) > 0)


@dataclass(frozen=True)
class Bitmap:
    """LabelMe's: a PNG in base64 at a place."""

    data: str
    top: int
    left: int

    def patch(self, height: int, width: int, thickness: int) -> Patch:
        with Image.open(io.BytesIO(base64.b64decode(self.data)), formats=("PNG",)) as image:
            _require_inside(image.height, image.width, height, width)
            alpha = image.getchannel("A") if image.mode in ("RGBA", "LA") else image.convert("L")
            # A palette's first colour, and black, lie outside.
            pixels = np.asarray(image if image.mode == "P" else alpha)
        return Patch(self.top, self.left, pixels > 0)


def _require_inside(height: int, width: int, most_height: int, most_width: int) -> None:
    """A few bytes may say that they are gigabytes."""
    if not (0 < height <= most_height and 0 < width <= most_width):
        raise ValueError("a mask larger than its image")


@dataclass(frozen=True)
class MaskFile:
    """A file for one class, as large as the image: bright pixels belong to it (of 0 and 1: those with 1)."""

    path: Path

    def patch(self, height: int, width: int, thickness: int) -> Patch:
        pixels = read_label_pixels(self.path)
        grey = pixels.max(2) if pixels.ndim == 3 else pixels
        brightest = int(grey.max(initial=0))
        return Patch(0, 0, grey > (brightest // 2 if brightest > 1 else 0))


@dataclass(frozen=True)
class Unknown:
    """An object may be anywhere: what nothing else covers is void."""


Drawable = Polygons | Strokes | RunLengths | Brush | Bitmap | MaskFile
Form = Drawable | Unknown


@dataclass(frozen=True)
class Shape:
    """An object: its class and its pixels. Of a `crowd` only the region is known, not which pixels are it."""

    name: str
    form: Form
    crowd: bool = False
    layer: int = 0  # by the rule "later", a higher one is on top, and of one layer the later
    place: Polygons | None = None  # the box around it, for a form that cannot be drawn

    @property
    def is_void(self) -> bool:
        """Whether it stands for an object that could not be read."""
        return self.crowd and self.name == VOID


@dataclass(frozen=True)
class LabelFile:
    """Classes of a whole image: a file whose values, or else whose colours, stand for these names."""

    path: Path
    by_value: Mapping[int, str] = field(default_factory=dict)
    by_colour: Mapping[Colour, str] = field(default_factory=dict)


@dataclass(frozen=True)
class AnnotatedImage:
    """The labels that a tool has for one image, which it calls `file`.

    `size` is that of the image it was drawn on, (height, width), where the tool tells; with `relative` the
    coordinates are shares of it. `notes` counts what the reader could not use, and why.
    """

    file: str
    size: tuple[int, int] | None = None
    shapes: tuple[Shape, ...] = ()
    labels: LabelFile | None = None
    relative: bool = False
    subset: str = ""
    listed: bool = True  # the tool knows the image, whether or not anything is drawn in it
    notes: Mapping[str, int] = field(default_factory=dict)

    @property
    def has_objects(self) -> bool:
        """Whether any was read."""
        return self.labels is not None or any(not shape.is_void for shape in self.shapes)


@dataclass(frozen=True)
class LabelSource:
    """All that was read: classes in their order with their colours, where known, and images.

    `rest` is what pixels are that nobody drew: background, or void where the tool labels all that it means
    to. `masks` are folders and files of labels, which are no photos; `home` is where to look for these.
    """

    home: Path
    classes: Mapping[str, Colour | None]
    images: Sequence[AnnotatedImage]
    rest: str = BACKGROUND
    masks: Sequence[Path] = ()
    notes: Mapping[str, int] = field(default_factory=dict)


def classes_in(
    images: Sequence[AnnotatedImage], listed: Mapping[str, Colour | None] | None = None
) -> dict[str, Colour | None]:
    """Classes that the tool lists, then those of all other objects, sorted."""
    names = {shape.name for image in images for shape in image.shapes if not shape.is_void}
    return {**(listed or {}), **dict.fromkeys(sorted(names - (listed or {}).keys()))}


def merged(images: Sequence[AnnotatedImage]) -> list[AnnotatedImage]:
    """Each image once, with the labels of all entries of that name, one after the other."""
    found: dict[str, list[AnnotatedImage]] = {}
    for image in images:
        found.setdefault(image.file, []).append(image)
    return [entries[0] if len(entries) == 1 else _one_of(entries) for entries in found.values()]


def _one_of(entries: Sequence[AnnotatedImage]) -> AnnotatedImage:
    notes: Counter[str] = Counter()
    for entry in entries:
        notes.update(entry.notes)
    return replace(
        entries[0],
        size=next((entry.size for entry in entries if entry.size), None),
        shapes=tuple(shape for entry in entries for shape in entry.shapes),
        labels=next((entry.labels for entry in entries if entry.labels), None),
        subset=next((entry.subset for entry in entries if entry.subset), ""),
        listed=any(entry.listed for entry in entries),
        notes=notes,
    )
