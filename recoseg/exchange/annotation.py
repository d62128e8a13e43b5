"""The nouns: what a labelling tool says of an image, whatever the tool.

A reader of a format makes these and nothing else; `drawing` makes label images of them. Shapes keep what the
tool wrote, packed as it was, until they are drawn: so they are small, and travel to other processes.
"""

from __future__ import annotations

import base64
import io
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from recoseg.colours import Colour
from recoseg.data.image_files import read_label_pixels
from recoseg.exchange.rasterise import Patch, Ring, fill, joined, stroke
from recoseg.exchange.run_lengths import mask_of, unpack_brush, unpack_counts

BACKGROUND, VOID = "background", "void"
_MOST_BYTES = 2**28  # that a packed bitmap may unpack to


@dataclass(frozen=True)
class Polygons:
    """One or more polygons, each an outer ring and its holes."""

    parts: tuple[tuple[Ring, ...], ...]

    def patch(self, height: int, width: int, thickness: int) -> Patch:
        return joined([fill(rings, height, width) for rings in self.parts])

    def limits(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The least and the greatest x, y."""
        points = np.concatenate([ring for rings in self.parts for ring in rings])
        return points.min(0), points.max(0)


@dataclass(frozen=True)
class Strokes:
    """Lines, and points, which are lines of one point: they say nothing of the pixels around them."""

    lines: tuple[Ring, ...]

    def patch(self, height: int, width: int, thickness: int) -> Patch:
        return joined([stroke(line, thickness, height, width) for line in self.lines])

    def limits(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        points = np.concatenate(self.lines)
        return points.min(0), points.max(0)


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
    """A PNG in base64 at a place; `zipped` as Supervisely has it."""

    data: str
    top: int
    left: int
    zipped: bool = False

    def patch(self, height: int, width: int, thickness: int) -> Patch:
        content = base64.b64decode(self.data)
        if self.zipped:
            content = zlib.decompressobj().decompress(content, _MOST_BYTES)
        with Image.open(io.BytesIO(content), formats=("PNG",)) as image:
            alpha = image.getchannel("A") if image.mode in ("RGBA", "LA") else image.convert("L")
            # A palette's first colour, and black, lie outside.
            pixels = np.asarray(image if image.mode == "P" else alpha)
        return Patch(self.top, self.left, pixels > 0)


@dataclass(frozen=True)
class MaskFile:
    """A file for one class, as large as the image: bright pixels belong to it (of 0 and 1: those with 1)."""

    path: Path

    def patch(self, height: int, width: int, thickness: int) -> Patch:
        pixels = read_label_pixels(self.path)
        grey = pixels.max(2) if pixels.ndim == 3 else pixels
        brightest = int(grey.max(initial=0))
        return Patch(0, 0, grey > (brightest // 2 if brightest > 1 else 0))


Form = Polygons | Strokes | RunLengths | Brush | Bitmap | MaskFile


@dataclass(frozen=True)
class Shape:
    """An object: its class and its pixels. Of a `crowd` only the region is known, not which pixels are it."""

    name: str
    form: Form
    crowd: bool = False
    layer: int = 0  # by the rule "later", a higher one is on top


@dataclass(frozen=True)
class LabelFile:
    """Classes of a whole image: a file whose values, or else whose colours, stand for these names."""

    path: Path
    by_value: Mapping[int, str] = field(default_factory=dict)
    by_colour: Mapping[Colour, str] = field(default_factory=dict)


@dataclass(frozen=True)
class AnnotatedImage:
    """What a tool says of one image, which it calls `file`.

    `size` is that of the image it was drawn on, (height, width), where the tool tells; with `relative` the
    coordinates are shares of it. `notes` counts what the reader had to leave out, and why.
    """

    file: str
    size: tuple[int, int] | None = None
    shapes: tuple[Shape, ...] = ()
    labels: LabelFile | None = None
    relative: bool = False
    subset: str = ""
    listed: bool = True  # the tool knows the image, whether or not anything is drawn in it
    notes: Mapping[str, int] = field(default_factory=dict)


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


def merged(images: Sequence[AnnotatedImage]) -> list[AnnotatedImage]:
    """Each image once: what several files say of it, one after the other."""
    found: dict[str, AnnotatedImage] = {}
    for image in images:
        before = found.get(image.file)
        found[image.file] = image if before is None else _both(before, image)
    return list(found.values())


def _both(one: AnnotatedImage, other: AnnotatedImage) -> AnnotatedImage:
    return AnnotatedImage(
        one.file,
        one.size or other.size,
        one.shapes + other.shapes,
        one.labels or other.labels,
        one.relative,
        one.subset or other.subset,
        one.listed or other.listed,
        Counter(one.notes) + Counter(other.notes),
    )
