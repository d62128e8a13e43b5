"""Labels laid over their image: a tint for each class, contours in its full colour, and a legend if wanted.

It draws predictions and checked labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from recoseg.colours import Colour, is_background
from recoseg.errors import UserError
from recoseg.text import did_you_mean, printable, shortened
from recoseg.types import IGNORE, ClassInfo

_Pixels = NDArray[np.uint8]

OPACITY = 0.4
BAND_PIXELS = 2**20
_PIXELS_A_LINE = 600  # a contour is one pixel wide on each side in an image so long, two in one twice as long


@dataclass(frozen=True, kw_only=True)
class Overlay:
    """How labels are laid over images.

    `opacity` is the strength of the tint: 0 leaves contours alone, 1 hides the image. Classes that are
    `untinted` show the image as it is; unless told otherwise, that is the background. A `legend` below the
    image names the classes that are seen.
    """

    opacity: float = OPACITY
    untinted: tuple[str, ...] | None = None  # names of classes; None: the one that is called background
    legend: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.opacity <= 1:
            raise UserError(
                f"opacity: got {self.opacity:g}, needs a number from 0 (contours alone) to 1 (colours alone)"
            )

    def told(self) -> str:
        """In words, for the record of what made a picture."""
        untinted = "" if self.untinted is None else f", untinted {', '.join(self.untinted) or 'none'}"
        return f"opacity {self.opacity:g}{untinted}{', legend' if self.legend else ''}"

    def tinted(self, classes: ClassInfo) -> NDArray[np.bool_]:
        """(256,): which labels are drawn; void never is."""
        tinted = np.zeros(IGNORE + 1, dtype=np.bool_)
        if self.untinted is None:
            tinted[: len(classes)] = [not is_background(name) for name in classes.names]
            return tinted
        for name in self.untinted:
            if name not in classes.names:
                raise UserError(
                    f"untinted: unknown class {shortened(repr(name))}{did_you_mean(name, classes.names)}"
                )
        tinted[: len(classes)] = [name not in self.untinted for name in classes.names]
        return tinted

    def draw(self, image: _Pixels, labels: _Pixels, classes: ClassInfo) -> Image.Image:
        """Of an image (H, W, 3) and its labels (H, W). It has the image's size, but for a legend."""
        height, width = labels.shape
        tinted = self.tinted(classes)
        legend = self._legend(labels, classes, tinted)
        size = (max(width, legend.width), height + legend.height) if legend else (width, height)
        picture = Image.new("RGB", size, "white")
        under = np.rint(np.arange(256) * (1 - self.opacity)).astype(np.uint8)
        colours = np.zeros((IGNORE + 1, 3), dtype=np.uint8)
        colours[: len(classes)] = classes.palette
        over = np.floor(colours * self.opacity).astype(np.uint8)  # sums stay below 256
        line = max(1, round(max(height, width) / _PIXELS_A_LINE))
        for rows in bands(height, width):
            shown = labels[rows]
            seen = tinted[shown]  # (rows, W)
            band = under[image[rows]]  # (rows, W, 3)
            band += over[shown]
            np.copyto(band, image[rows], where=~seen[..., None])
            edges = _contours(labels, rows, line) & seen
            band[edges] = colours[shown[edges]]
            picture.paste(Image.fromarray(band), (0, rows.start))
        if legend:
            picture.paste(legend, (0, height))
        return picture

    def _legend(self, labels: _Pixels, classes: ClassInfo, tinted: NDArray[np.bool_]) -> Image.Image | None:
        if not self.legend:
            return None
        found = np.flatnonzero(np.bincount(labels.ravel(), minlength=IGNORE + 1) * tinted).tolist()
        entries = [(classes.names[index], classes.palette[index]) for index in found]
        return _legend_strip(entries, labels.shape[1]) if entries else None


def bands(height: int, width: int) -> Iterator[slice]:
    """Rows to be worked on together: a large image never exists in several copies."""
    step = max(1, BAND_PIXELS // width)
    return (slice(top, min(top + step, height)) for top in range(0, height, step))


_EVERY, _FIRST, _SECOND = slice(None), slice(None, -1), slice(1, None)
_NEIGHBOURS = (((_FIRST, _EVERY), (_SECOND, _EVERY)), ((_EVERY, _FIRST), (_EVERY, _SECOND)))
"""Pixels and those below them, pixels and those to their right."""


def _contours(labels: _Pixels, rows: slice, line: int) -> NDArray[np.bool_]:
    """Of these rows, the pixels that have one of another label at most `line` pixels away."""
    top, bottom = max(0, rows.start - line), min(len(labels), rows.stop + line)
    near = labels[top:bottom]
    edges = np.zeros(near.shape, dtype=np.bool_)
    for one, other in _NEIGHBOURS:
        differ = near[one] != near[other]
        edges[one] |= differ
        edges[other] |= differ
    for _ in range(line - 1):
        for one, other in _NEIGHBOURS:
            before = edges.copy()
            edges[one] |= before[other]
            edges[other] |= before[one]
    return edges[rows.start - top : rows.stop - top]


# The legend: boxes and names in lines, on white

_NARROWEST = 320  # pixels
_LONGEST_NAME = 40


def _legend_strip(entries: Sequence[tuple[str, Colour]], width: int) -> Image.Image:
    """As wide as the image, unless that is too narrow for words."""
    from matplotlib import get_data_path  # whose font has more letters than Pillow's own

    width = max(width, _NARROWEST)
    size = max(13, round(width / 55))
    font = ImageFont.truetype(f"{get_data_path()}/fonts/ttf/DejaVuSans.ttf", size)
    line, gap = round(1.8 * size), round(0.6 * size)
    places: list[tuple[int, int, str, Colour]] = []
    x = y = gap
    for name, colour in entries:
        text = shortened(printable(name), _LONGEST_NAME)
        wide = size + gap + int(font.getlength(text)) + 2 * gap
        if x > gap and x + wide > width:
            x, y = gap, y + line
        places.append((x, y, text, colour))
        x += wide
    strip = Image.new("RGB", (width, y + size + gap), "white")
    draw = ImageDraw.Draw(strip)
    for x, y, text, colour in places:
        draw.rectangle((x, y, x + size, y + size), fill=colour, outline=(120, 120, 120))
        draw.text((x + size + gap, y + size / 2), text, fill=(26, 26, 26), font=font, anchor="lm")
    return strip
