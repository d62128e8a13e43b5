"""A picture's title, with small print below it."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap

from recoseg.figures.sheet import MUTED, Sheet, text_width

LEFT, TITLE, LINE = 0.12, 0.26, 0.17  # inches
SIZES = 11, 8  # points


@dataclass(frozen=True)
class Heading:
    """What a picture shows in a few words, and in `about` what one must know to read it."""

    title: str
    about: str

    def lines(self, width: float) -> tuple[list[str], list[str]]:
        """Title and small print, broken to fit on a sheet so wide."""
        room = width - 2 * LEFT
        title, about = (
            wrap(text, max(8, int(room / text_width(1, size))))
            for text, size in zip((self.title, self.about), SIZES, strict=True)
        )
        return title, about

    def height(self, width: float) -> float:
        title, about = self.lines(width)
        return 0.07 + TITLE * len(title) + LINE * len(about) + 0.1

    def draw(self, page: Sheet) -> None:
        title, about = self.lines(page.width)
        for number, text in enumerate(title):
            page.text(LEFT, 0.07 + (number + 0.5) * TITLE, text, fontsize=SIZES[0], fontweight="bold")
        top = 0.07 + TITLE * len(title)
        for number, text in enumerate(about):
            page.text(LEFT, top + (number + 0.4) * LINE, text, fontsize=SIZES[1], color=MUTED)
