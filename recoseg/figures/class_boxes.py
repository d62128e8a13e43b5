"""The legend under the paper's pictures: boxes in the colours of the classes, with their names inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recoseg.figures.sheet import MUTED, Sheet, shortened, text_width
from recoseg.types import IGNORE, ClassInfo

Colour = tuple[int, int, int]

UNDEFINED: Colour = (255, 255, 255)
BOX_HEIGHT = 0.28
GAP = 0.05
POINTS = 9
MOST_A_ROW = 10
LONGEST_NAME = 28


@dataclass(frozen=True)
class ClassBoxes:
    """Boxes for some classes, in rows of one width; `width` is what a row may take."""

    entries: Sequence[tuple[str, Colour]]
    width: float

    @classmethod
    def of(cls, classes: ClassInfo, shown: Sequence[int], width: float, *, undefined: bool) -> ClassBoxes:
        """The classes with these numbers, and one for pixels without a class."""
        entries = [(classes.names[number], classes.palette[number]) for number in shown]
        return cls([*entries, ("undefined", UNDEFINED)] if undefined else entries, width)

    @property
    def a_row(self) -> int:
        longest = max((len(shortened(name, LONGEST_NAME)) for name, _ in self.entries), default=1)
        fitting = int(self.width / (text_width(longest, POINTS) + 0.15))
        return max(1, min(MOST_A_ROW, fitting))

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
            shown = shortened(name, LONGEST_NAME)
            sheet.text(*middle, shown, ha="center", fontsize=POINTS, color=text_colour(colour))


def text_colour(colour: Colour) -> str:
    """White or black, whichever is easier to read on the colour."""
    red, green, blue = colour
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "white"


def coloured(labels: NDArray[np.uint8], classes: ClassInfo) -> NDArray[np.uint8]:
    """(H, W) -> (H, W, 3); what is not a class is white."""
    colours = np.full((IGNORE + 1, 3), UNDEFINED, dtype=np.uint8)
    colours[: len(classes)] = classes.palette
    return colours[labels]
