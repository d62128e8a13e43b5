"""The contact sheet: many images on one page with their labels laid over them, and what is wrong below."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import wrap

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import minimum_filter

from recoseg.data.file_dataset import Entry
from recoseg.data.image_files import FULL_DEPTH, read_label_pixels, read_rgb
from recoseg.data.label_codes import LabelCode
from recoseg.data.problem import FileError, Problem
from recoseg.figures.sheet import ClassBoxes, Heading, Sheet, sheet, shortened, text_width
from recoseg.overlay import Overlay
from recoseg.types import IGNORE, ClassInfo

_Pixels = NDArray[np.uint8]

MOST_IMAGES = 24
_LONGEST = 640  # pixels of a picture's longer side
_FEW = 0.01  # labels of a smaller share of the pixels are drawn larger than they are

# The layout, in inches.
_PANEL, _TALLEST = 3.2, 2.6
_COLUMNS = 4
_GAP = 0.15
_LINE = 0.15
_POINTS = 7.5
_MOST_LINES = 3
_TROUBLE = "#b3261e"


@dataclass(frozen=True)
class LabelledImage:
    """One picture of the sheet; the classes `seen` are named below it."""

    name: str
    picture: _Pixels | None  # (h, w, 3); None where there is nothing to show
    seen: frozenset[int] = frozenset()
    trouble: str = ""

    @property
    def size(self) -> tuple[float, float]:
        """(width, height) in inches; small pictures are enlarged."""
        height, width = self.picture.shape[:2] if self.picture is not None else (3, 4)
        scale = min(_PANEL / width, _TALLEST / height)
        return width * scale, height * scale

    @property
    def trouble_lines(self) -> list[str]:
        lines = wrap(shortened(self.trouble, 220), int(_PANEL / text_width(1, _POINTS)))
        return lines[:_MOST_LINES]


def labelled_image(
    name: str, image: _Pixels, labels: _Pixels, classes: ClassInfo, *, partial: bool = False
) -> LabelledImage:
    """Labels (H, W) over their image (H, W, 3), or stretched to it where sizes differ.

    Where labels are `partial`, the background is drawn too: it is not the same as no label.
    """
    look = Overlay(untinted=()) if partial else Overlay()
    counts = np.bincount(labels.ravel(), minlength=IGNORE + 1)
    seen = frozenset(np.flatnonzero(counts * look.tinted(classes)).tolist())
    if partial and counts[:IGNORE].sum() < _FEW * labels.size:
        look = Overlay(untinted=(), opacity=1)
        # IGNORE is the highest value: every class grows into it.
        labels = minimum_filter(labels, size=2 * (max(labels.shape) // 100) + 1)
    small = _shrunk(image)
    size = (small.shape[1], small.shape[0])
    fitted = np.asarray(Image.fromarray(labels).resize(size, Image.Resampling.NEAREST))
    return LabelledImage(name, np.asarray(look.draw(small, fitted, classes)), seen)


def checked_image(
    key: str,
    entry: Entry,
    problems: Sequence[Problem],
    code: LabelCode | None,
    classes: ClassInfo | None,
    *,
    bit_depth: int = FULL_DEPTH,
) -> LabelledImage:
    """As much as can be shown of files that may be broken; labels without known classes as they are."""
    trouble = "; ".join(problem.what for problem in problems)
    try:
        image = read_rgb(entry.image, bit_depth=bit_depth)
    except FileError:
        return LabelledImage(key, None, trouble=trouble)
    if entry.labels is not None and code is not None and classes is not None:
        with suppress(FileError):
            shown = labelled_image(key, image, code.decode(entry.labels), classes)
            return replace(shown, trouble=trouble)
    if entry.labels is not None:
        with suppress(FileError):
            return LabelledImage(key, _shrunk(_as_it_is(entry.labels)), trouble=trouble)
    return LabelledImage(key, _shrunk(image), trouble=trouble)


def draw_contact_sheet(
    path: Path, images: Sequence[LabelledImage], classes: ClassInfo | None, heading: Heading
) -> None:
    """In rows, in the order given; below them the classes that are seen."""
    columns = min(_COLUMNS, max(2, len(images)))
    width = columns * (_PANEL + _GAP) + _GAP
    rows = [images[start : start + columns] for start in range(0, len(images), columns)]
    heights = [max(one.size[1] + _LINE * (1 + len(one.trouble_lines)) for one in row) + _GAP for row in rows]
    shown = sorted(frozenset().union(*(one.seen for one in images)))
    boxes = ClassBoxes.of(classes, shown, width - 2 * _GAP, undefined=False) if classes else None
    top = heading.height(width) + 0.05
    height = top + sum(heights) + (boxes.height if boxes else 0) + _GAP
    with sheet(path, width=width, height=height) as page:
        heading.draw(page)
        for row, tall in zip(rows, heights, strict=True):
            for column, one in enumerate(row):
                _draw_image(page, _GAP + column * (_PANEL + _GAP), top, one)
            top += tall
        if boxes:
            boxes.draw(page, _GAP, top)


def _draw_image(page: Sheet, left: float, top: float, one: LabelledImage) -> None:
    width, height = one.size
    if one.picture is None:
        page.box(left, top, width, height, facecolor="#eeeeee", edgecolor="none")
        page.text(left + width / 2, top + height / 2, "cannot be read", ha="center", color="#777777")
    else:
        page.picture(left, top, width, height, one.picture, interpolation="antialiased")
    below = top + height + 0.6 * _LINE
    name = shortened(one.name, int(_PANEL / text_width(1, _POINTS)))
    page.text(left, below, name, fontsize=_POINTS, color=_TROUBLE if one.trouble else "#444444")
    for number, line in enumerate(one.trouble_lines, start=1):
        page.text(left, below + number * _LINE, line, fontsize=_POINTS, color=_TROUBLE)


def _as_it_is(labels: Path) -> _Pixels:
    """A label file whose classes cannot be told: its colours, or its values as evenly spaced greys."""
    pixels = read_label_pixels(labels)
    if pixels.ndim == 3:
        return pixels.astype(np.uint8)
    values, place = np.unique(pixels, return_inverse=True)
    greys = np.linspace(30, 235, len(values)).astype(np.uint8)
    return greys[place].reshape(*pixels.shape, 1).repeat(3, axis=2)


def _shrunk(image: _Pixels) -> _Pixels:
    """At most as large as a sheet can use."""
    picture = Image.fromarray(image)
    picture.thumbnail((_LONGEST, _LONGEST), Image.Resampling.LANCZOS)
    return np.asarray(picture)
