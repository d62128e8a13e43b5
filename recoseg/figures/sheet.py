"""A sheet to draw on, measured in inches from its top left corner, that becomes a PNG, SVG or PDF file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recoseg.errors import UserError
from recoseg.files import write_whole
from recoseg.words import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENDINGS: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
"""Ending -> what its file shall not hold: equal pictures are equal files, on any day."""
DOTS_PER_INCH = 200
MOST_DOTS = 16_000  # along a side: viewers refuse much larger pictures
INK, MUTED, PAPER = "#1a1a1a", "#666666", "white"
STYLE: Any = {  # settings of matplotlib
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
def sheet(path: Path, *, width: float, height: float, dots: float = DOTS_PER_INCH) -> Iterator[Sheet]:
    """A white sheet of so many inches; at the end of the block it is written to `path`, by its ending."""
    import matplotlib
    from matplotlib.figure import Figure

    ending = require_ending(path)
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # a user's own style has no say here
        matplotlib.rcParams.update(STYLE)
        figure = Figure(figsize=(width, height), facecolor=PAPER)
        yield Sheet(figure, width, height)
        buffer = BytesIO()
        dots = min(dots, MOST_DOTS / max(width, height))
        figure.savefig(buffer, format=ending[1:], dpi=dots, metadata=ENDINGS[ending])
    write_whole(path, buffer.getvalue())


def require_ending(path: Path) -> str:
    """The ending that says what kind of file to write."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise UserError(f"{path}: a picture's name ends in {', '.join(ENDINGS)}")
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
