"""The sheet that pictures are drawn on: places in inches, a heading, a legend of classes, one style."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recoseg.errors import UserError
from recoseg.files import write_whole
from recoseg.text import printable
from recoseg.types import IGNORE, ClassInfo

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_ENDINGS: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
"""Ending -> what its file shall not hold: equal pictures are equal files, on any day."""
_DOTS_PER_INCH = 200
MOST_DOTS = 16_000  # along a side: viewers refuse much larger pictures
INK, MUTED, PAPER = "#1a1a1a", "#666666", "white"
_STYLE: Any = {  # settings of matplotlib
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.6,
    "text.parse_math": False,  # a class may be called $x$
    "svg.fonttype": "none",  # text stays text: it can be searched, and edited
    "svg.hashsalt": "recoseg",
    "pdf.fonttype": 42,
}


@dataclass(frozen=True)
class Sheet:
    """Places and sizes are in inches, from the top left corner."""

    figure: Figure
    width: float
    height: float

    def axes(self, left: float, top: float, width: float, height: float) -> Axes:
        bottom = self.height - top - height
        return self.figure.add_axes(
            (left / self.width, bottom / self.height, width / self.width, height / self.height)
        )

    def text(self, left: float, top: float, text: str, **settings: Any) -> None:
        """The middle of the text's height is at `top`, unless `va` says otherwise."""
        settings.setdefault("va", "center")
        self.figure.text(left / self.width, 1 - top / self.height, printable(text), **settings)

    def box(self, left: float, top: float, width: float, height: float, **settings: Any) -> None:
        from matplotlib.patches import Rectangle

        corner = (left / self.width, 1 - (top + height) / self.height)
        self.figure.add_artist(Rectangle(corner, width / self.width, height / self.height, **settings))

    def picture(self, left: float, top: float, width: float, height: float, pixels: Any, **how: Any) -> Axes:
        """Pixels (H, W, 3) or, with a colour map, (H, W), in a thin frame."""
        axes = self.axes(left, top, width, height)
        axes.imshow(pixels, aspect="auto", **{"interpolation": "nearest", **how})
        axes.set_xticks([])
        axes.set_yticks([])
        return axes


@contextmanager
def sheet(path: Path, *, width: float, height: float, dots: float = _DOTS_PER_INCH) -> Iterator[Sheet]:
    """A white sheet of so many inches; at the end of the block it is written to `path`, by its ending."""
    import matplotlib
    from matplotlib.figure import Figure

    ending = require_ending(path)
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # a user's own style has no say here
        matplotlib.rcParams.update(_STYLE)
        figure = Figure(figsize=(width, height), facecolor=PAPER)
        yield Sheet(figure, width, height)
        buffer = BytesIO()
        dots = min(dots, MOST_DOTS / max(width, height))
        figure.savefig(buffer, format=ending[1:], dpi=dots, metadata=_ENDINGS[ending])
    write_whole(path, buffer.getvalue())


def require_ending(path: Path) -> str:
    """The ending that says what kind of file to write."""
    ending = path.suffix.lower()
    if ending not in _ENDINGS:
        raise UserError(f"{path}: a picture's name ends in {', '.join(_ENDINGS)}")
    return ending


def shortened(text: str, most: int) -> str:
    """At most so many characters, an ellipsis for what is left out of the middle: ends tell names apart."""
    text = printable(text)
    if len(text) <= most:
        return text
    end = (most - 1) // 3
    return f"{text[: most - 1 - end].rstrip()}…{text[len(text) - end :].lstrip()}"


def text_width(num_characters: int, points: float) -> float:
    """Inches that so many characters take, on the safe side of the mean."""
    return num_characters * points * 0.6 / 72


# A title, with small print below it.

_LEFT, _TITLE, _LINE = 0.12, 0.26, 0.17  # inches
_SIZES = 11, 8  # points


@dataclass(frozen=True)
class Heading:
    """What a picture shows in a few words, and in `about` what one must know to read it."""

    title: str
    about: str

    def lines(self, width: float) -> tuple[list[str], list[str]]:
        """Title and small print, broken to fit on a sheet so wide."""
        room = width - 2 * _LEFT
        title, about = (
            wrap(text, max(8, int(room / text_width(1, size))))
            for text, size in zip((self.title, self.about), _SIZES, strict=True)
        )
        return title, about

    def height(self, width: float) -> float:
        title, about = self.lines(width)
        return 0.07 + _TITLE * len(title) + _LINE * len(about) + 0.1

    def draw(self, page: Sheet) -> None:
        title, about = self.lines(page.width)
        for number, text in enumerate(title):
            page.text(_LEFT, 0.07 + (number + 0.5) * _TITLE, text, fontsize=_SIZES[0], fontweight="bold")
        top = 0.07 + _TITLE * len(title)
        for number, text in enumerate(about):
            page.text(_LEFT, top + (number + 0.4) * _LINE, text, fontsize=_SIZES[1], color=MUTED)


# The legend of classes: boxes in their colours, with their names inside.

_Colour = tuple[int, int, int]

_UNDEFINED: _Colour = (255, 255, 255)
BOX_HEIGHT = 0.28
GAP = 0.05
_POINTS = 9
_MOST_A_ROW = 10
_LONGEST_NAME = 28


@dataclass(frozen=True)
class ClassBoxes:
    """Boxes for some classes, in rows of one width; `width` is what a row may take."""

    entries: Sequence[tuple[str, _Colour]]
    width: float

    @classmethod
    def of(cls, classes: ClassInfo, shown: Sequence[int], width: float, *, undefined: bool) -> ClassBoxes:
        """The classes with these numbers, and one for pixels without a class."""
        entries = [(classes.names[number], classes.palette[number]) for number in shown]
        return cls([*entries, ("undefined", _UNDEFINED)] if undefined else entries, width)

    @property
    def a_row(self) -> int:
        longest = max((len(shortened(name, _LONGEST_NAME)) for name, _ in self.entries), default=1)
        fitting = int(self.width / (text_width(longest, _POINTS) + 0.15))
        return max(1, min(_MOST_A_ROW, fitting))

    @property
    def height(self) -> float:
        return -(-len(self.entries) // self.a_row) * (BOX_HEIGHT + GAP)

    def draw(self, sheet: Sheet, left: float, top: float) -> None:
        pitch = self.width / self.a_row
        for number, (name, colour) in enumerate(self.entries):
            row, column = divmod(number, self.a_row)
            x, y = left + column * pitch, top + row * (BOX_HEIGHT + GAP)
            fill = tuple(value / 255 for value in colour)
            edge = MUTED if min(colour) > 225 else fill
            sheet.box(x, y, pitch - GAP, BOX_HEIGHT, facecolor=fill, edgecolor=edge, linewidth=0.5)
            middle = x + (pitch - GAP) / 2, y + BOX_HEIGHT / 2
            shown = shortened(name, _LONGEST_NAME)
            sheet.text(*middle, shown, ha="center", fontsize=_POINTS, color=text_colour(colour))


def text_colour(colour: _Colour) -> str:
    """White or black, whichever is easier to read on the colour."""
    red, green, blue = colour
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "white"


def coloured(labels: NDArray[np.uint8], classes: ClassInfo) -> NDArray[np.uint8]:
    """(H, W) -> (H, W, 3); what is not a class is white."""
    colours = np.full((IGNORE + 1, 3), _UNDEFINED, dtype=np.uint8)
    colours[: len(classes)] = classes.palette
    return colours[labels]
