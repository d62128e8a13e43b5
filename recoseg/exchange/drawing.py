"""Draws the labels that a tool has for an image as a label image, upright, one class a pixel."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from recoseg.data.image_files import stored_size
from recoseg.data.label_codes import ByColour, ByValue, Labels
from recoseg.data.problem import FileError
from recoseg.errors import is_shortage
from recoseg.exchange.annotation import (
    VOID,
    AnnotatedImage,
    Drawable,
    LabelFile,
    MaskFile,
    Polygons,
    Strokes,
    Unknown,
)
from recoseg.exchange.parsing import UNREADABLE, WRONG
from recoseg.exchange.rasterise import Patch, cut
from recoseg.types import IGNORE

OVERLAPS = {
    "smaller": "where objects overlap, the smaller one is on top",
    "later": "where objects overlap, the one that the tool has in front, or lists later, is on top",
    "void": "where objects of two classes overlap, pixels are void",
}

_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""EXIF orientation -> what makes the stored image upright."""

_SIDEWAYS = (5, 6, 7, 8)
_OPEN, _CROWD = -1, -2  # on the canvas: nobody claimed the pixel, or a crowd alone
EXIF_RULE = (
    "images that EXIF turns: labels are of the upright image, or as stored if only that has their size"
)
_LATITUDE = 1.0  # pixels by which tools overshoot the border of an image
_MOST_KEPT = 2**28  # bytes of masks; what is more is made again when its turn comes

_NOT_DECODED = (
    *WRONG, OSError, SyntaxError, EOFError, struct.error, zlib.error, UnidentifiedImageError,
    Image.DecompressionBombError,
)  # fmt: skip


@dataclass(frozen=True)
class Drawing:
    """The rules, for all images alike. `numbers` are those of classes; shapes of others are left out."""

    numbers: Mapping[str, int]
    background: int | None
    overlap: str
    rest: str
    thickness: int

    def __call__(self, image: AnnotatedImage, photo: Path, notes: Counter[str]) -> Labels:
        """(H, W) class indices, as large as the photo is upright; `notes` counts what went otherwise."""
        frame = _frame_of(image, photo, notes)
        if image.labels is not None:
            canvas = self._decoded(image.labels).astype(np.int16)
        else:
            canvas = np.full(frame.size, _OPEN, dtype=np.int16)
        masks, is_known = self._masks(image, frame.size, notes)
        for mask in sorted(masks, key=self._place):
            self._paint(canvas, mask)
        canvas[canvas == _OPEN] = self._rest_of(image) if is_known else IGNORE
        canvas[canvas == _CROWD] = IGNORE
        labels: Labels = canvas.astype(np.uint8)
        return frame.upright(labels)

    def _rest_of(self, image: AnnotatedImage) -> int:
        """What pixels are that nobody drew. Beside points and lines nothing is known of them."""
        is_partial = any(isinstance(shape.form, Strokes) for shape in image.shapes)
        return IGNORE if is_partial or self.rest == VOID or self.background is None else self.background

    def _decoded(self, file: LabelFile) -> Labels:
        """A file of labels in our numbers; a class that was not asked for is as if it were not drawn."""
        other = IGNORE if self.rest == VOID or self.background is None else self.background

        def number_of(name: str) -> int:
            return self.numbers.get(name, IGNORE if name == VOID else other)

        remedy = "correct the mask, or the list of its classes"
        if file.by_colour:
            colours = {colour: number_of(name) for colour, name in file.by_colour.items()}
            return ByColour(colours, remedy=remedy).decode(file.path)
        values = {value: number_of(name) for value, name in file.by_value.items()}
        return ByValue(values, remedy=remedy).decode(file.path)

    def _masks(
        self, image: AnnotatedImage, size: tuple[int, int], notes: Counter[str]
    ) -> tuple[list[_Mask], bool]:
        """What all shapes cover, in their order, and whether it is known where each of them is."""
        scale = np.array(size[::-1], dtype=np.float64) if image.relative else None
        masks: list[_Mask] = []
        is_known, room = True, _MOST_KEPT
        for shape in image.shapes:
            number = IGNORE if shape.is_void else self.numbers.get(shape.name)
            if isinstance(shape.form, Unknown):
                is_known = False
                continue
            if number is None:
                notes["objects of classes that were not asked for: left out"] += 1
                continue
            form: Drawable = shape.form if scale is None else _scaled(shape.form, scale)
            is_crowd = shape.crowd
            try:
                patch = self._patch(form, size, Counter() if shape.is_void else notes)
            except _NOT_DECODED as error:
                if isinstance(error, FileError) or is_shortage(error):
                    raise
                notes[UNREADABLE] += 1
                if shape.place is None:
                    is_known = False
                    continue
                form, is_crowd = shape.place, True
                patch = self._patch(form, size, Counter())
            if patch is None:
                continue
            if shape.crowd and not shape.is_void:
                notes["crowd regions: void, beneath single objects"] += 1
            room -= patch.mask.nbytes
            kept = patch if room >= 0 else None
            masks.append(_Mask(_CROWD if is_crowd else number, form, shape.layer, patch.area, kept))
        return masks, is_known

    def _paint(self, canvas: NDArray[np.int16], mask: _Mask) -> None:
        height, width = canvas.shape
        patch = mask.patch or cut(mask.form.patch(height, width, self.thickness), height, width)
        rows, columns = patch.mask.shape
        view = canvas[patch.top : patch.top + rows, patch.left : patch.left + columns]
        is_other = patch.mask & (view >= 0) & (view != mask.number) if self.overlap == "void" else None
        np.copyto(view, mask.number, where=patch.mask)
        if is_other is not None:
            view[is_other] = IGNORE

    def _place(self, mask: _Mask) -> tuple[int, int]:
        """Crowds beneath, then areas by the rule, then points and lines."""
        kind = 0 if mask.number == _CROWD else 2 if isinstance(mask.form, Strokes) else 1
        return kind, -mask.area if self.overlap == "smaller" else mask.layer

    def _patch(self, form: Drawable, size: tuple[int, int], notes: Counter[str]) -> Patch | None:
        """Its pixels in the image; None, after a note, if there are none."""
        height, width = size
        patch = form.patch(height, width, self.thickness)
        inside = cut(patch, height, width)
        reaches_out, lies_out = _beyond(form, patch, height, width)
        if not inside.area:
            kind = "outside of their image" if lies_out else "too small to cover the centre of a pixel"
            notes[f"objects {kind}: left out"] += 1
            return None
        if reaches_out:
            notes["objects that reach beyond their image: cut at its border"] += 1
        return inside


@dataclass(frozen=True)
class _Mask:
    """Pixels of a shape that wait for their turn; where memory is short they are made again."""

    number: int
    form: Drawable
    layer: int
    area: int
    patch: Patch | None


def _beyond(form: Drawable, patch: Patch, height: int, width: int) -> tuple[bool, bool]:
    """Whether some of it, and whether all of it, lies outside of the image."""
    if isinstance(form, Polygons | Strokes):
        low, high = form.limits()
    else:
        low = np.array([patch.left, patch.top], dtype=np.float64)
        high = low + patch.mask.shape[::-1]
    size = np.array([width, height])
    some = bool((low < -_LATITUDE).any() or (high > size + _LATITUDE).any())
    return some, bool((high <= 0).any() or (low >= size).any())


def _scaled(form: Drawable, scale: NDArray[np.float64]) -> Drawable:
    if isinstance(form, Polygons):
        return Polygons(tuple(ring * scale for ring in form.rings))
    if isinstance(form, Strokes):
        return Strokes(tuple(line * scale for line in form.lines))
    return form


# What the coordinates refer to


@dataclass(frozen=True)
class _Frame:
    """The size of what was drawn on, (height, width), and the EXIF orientation that is yet to be applied."""

    size: tuple[int, int]
    orientation: int = 1

    def upright(self, labels: Labels) -> Labels:
        turn = _TURNS.get(self.orientation)
        return labels if turn is None else np.asarray(Image.fromarray(labels).transpose(turn))


def _frame_of(image: AnnotatedImage, photo: Path, notes: Counter[str]) -> _Frame:
    """Upright, as tools show an image, unless the size that they give is that of the stored image only."""
    stored, orientation = stored_size(photo)
    upright = stored[::-1] if orientation in _SIDEWAYS else stored
    if orientation != 1:
        notes[EXIF_RULE] += 1
    stated = _stated_size(image)
    if stated is None or stated == upright:
        return _Frame(upright)
    if stated == stored:
        return _Frame(stored, orientation)
    what = f"labels for {stated[1]}x{stated[0]} pixels, but the image has {upright[1]}x{upright[0]}"
    raise FileError(photo, what, "bring the image that was labelled, or export the labels again")


def _stated_size(image: AnnotatedImage) -> tuple[int, int] | None:
    """(height, width) that the tool gives, or that of its masks."""
    files = [shape.form.path for shape in image.shapes if isinstance(shape.form, MaskFile)]
    files += [image.labels.path] if image.labels else []
    sizes = {path: stored_size(path)[0] for path in files}
    for path, size in sizes.items():
        if size != (image.size or size) or size != next(iter(sizes.values())):
            what = f"{size[1]}x{size[0]} pixels, other than its image or the other masks of it"
            raise FileError(path, what, "export the mask again at the size of the image")
    return image.size or next(iter(sizes.values()), None)
