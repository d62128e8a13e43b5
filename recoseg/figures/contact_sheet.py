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
from recoseg.figures.image_grid import Panel, draw_image_grid
from recoseg.figures.sheet import INK, class_handles, shortened
from recoseg.overlay import Overlay
from recoseg.types import IGNORE, ClassInfo

_Pixels = NDArray[np.uint8]

MOST_IMAGES = 24
_LONGEST = 640  # pixels of a picture's longer side
_FEW = 0.01  # labels of a smaller share of the pixels are drawn larger than they are
_COLUMNS = 4
_NOTE_WIDTH, _NOTE_LINES = 34, 3
_WRONG = "#b3261e"


@dataclass(frozen=True)
class LabelledImage:
    """One picture of the sheet; the classes `seen` are named below it."""

    name: str
    picture: _Pixels | None  # (h, w, 3); None where the file cannot be read
    seen: frozenset[int] = frozenset()
    trouble: str = ""

    def panel(self) -> Panel:
        note = "\n".join(wrap(shortened(self.trouble, 220), _NOTE_WIDTH)[:_NOTE_LINES])
        colour = _WRONG if self.trouble else INK
        return Panel(self.picture, self.name, note=note, colour=colour, photo=True)


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
    path: Path, images: Sequence[LabelledImage], classes: ClassInfo | None, *, title: str, about: str
) -> None:
    """In rows, in the order given; below them the classes that are seen."""
    panels = [one.panel() for one in images]
    rows = [panels[start : start + _COLUMNS] for start in range(0, len(panels), _COLUMNS)]
    seen = sorted(frozenset().union(*(one.seen for one in images)))
    handles = class_handles(classes, seen) if classes else []
    draw_image_grid(path, rows, handles=handles, title=title, about=about)


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
