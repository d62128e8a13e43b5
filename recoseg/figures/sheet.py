"""The sheet that pictures are drawn on: one style, one layout, equal files for equal pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recoseg.errors import UserError
from recoseg.files import write_whole
from recoseg.text import printable
from recoseg.types import IGNORE, ClassInfo

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

PAGE = 9.0
"""Inches of a page's width: what is drawn on so wide a sheet can be read in a document."""
INK, MUTED, PAPER = "#1a1a1a", "#666666", "white"
LINES: tuple[tuple[str, Any], ...] = (
    ("#0072B2", "-"),
    ("#D55E00", (0, (5, 1.5))),
    ("#009E73", (0, (1.2, 1.2))),
    ("#CC79A7", (0, (6, 1.5, 1.2, 1.5))),
    ("#E69F00", (0, (8, 2))),
    ("#56B4E9", (0, (3, 1.2, 1.2, 1.2, 1.2, 1.2))),
    ("#000000", (0, (2.5, 1.2))),
)
"""Colour and dashes of the first series, the second, ...: Okabe and Ito's colours, for all eyes."""
_METADATA: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
"""Ending -> metadata to leave out, so that equal pictures are equal files on any day."""
_DOTS_PER_INCH = 200
MOST_DOTS = 16_000  # along a side: viewers refuse much larger pictures
_STYLE: Any = {  # settings of matplotlib
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.6,
    "axes.titlesize": 9,
    "axes.titlepad": 4,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "axes.labelcolor": MUTED,
    "text.parse_math": False,  # a class may be called $x$
    "svg.fonttype": "none",  # text stays text: it can be searched and edited
    "svg.hashsalt": "recoseg",
    "pdf.fonttype": 42,
}


@contextmanager
def sheet(path: Path, *, width: float, height: float, dots: float = _DOTS_PER_INCH) -> Iterator[Figure]:
    """A figure of about so many inches; at the end of the block it is written to `path`, by its ending."""
    import matplotlib
    from matplotlib.figure import Figure

    ending = require_ending(path)
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # the style of the user does not count
        matplotlib.rcParams.update(_STYLE)
        figure = Figure(figsize=(width, height), facecolor=PAPER, layout="compressed")
        yield figure
        buffer = BytesIO()
        dots = min(dots, MOST_DOTS / max(width, height))
        how: Any = {"bbox_inches": "tight", "pad_inches": 0.08}
        figure.savefig(buffer, format=ending[1:], dpi=dots, metadata=_METADATA[ending], **how)
    write_whole(path, buffer.getvalue())


def require_ending(path: Path) -> str:
    """The ending that says what kind of file to write."""
    ending = path.suffix.lower()
    if ending not in _METADATA:
        raise UserError(f"{path}: a picture's name ends in {', '.join(_METADATA)}")
    return ending


def annotate(figure: Figure, *, title: str = "", about: str = "", handles: Sequence[Artist] = ()) -> None:
    """A title above, and below a legend of the `handles` under the text `about`."""
    width = figure.get_figwidth()
    if title:
        text = fill(printable(title), max(8, characters(width, 11)))
        figure.suptitle(text, x=0.01, ha="left", fontsize=11, weight="bold")
    if about or handles:
        figure.legend(
            handles=handles,
            loc="outside lower left",
            ncols=max(1, min(_legend_columns(width, handles), len(handles))),
            title=fill(printable(about), max(8, characters(width, 8.5))) or None,
            title_fontsize=8.5,
            alignment="left",
            frameon=False,
            handlelength=2.2,
            columnspacing=1.4,
        )


def legend_height(width: float, handles: Sequence[Artist]) -> float:
    """Inches of a legend on a sheet so wide."""
    return 0.2 * -(-len(handles) // _legend_columns(width, handles)) + 0.1


def _legend_columns(width: float, handles: Sequence[Artist]) -> int:
    longest = max((len(str(handle.get_label())) for handle in handles), default=0)
    return max(1, int(width / (0.6 + 0.08 * longest)))


def class_handles(classes: ClassInfo, numbers: Iterable[int], *, undefined: bool = False) -> list[Artist]:
    """For a legend: the classes with these numbers in their colours, and white for pixels without a class."""
    from matplotlib.patches import Patch

    shown = [(classes.names[number], classes.palette[number]) for number in numbers]
    return [
        Patch(
            facecolor=(colour[0] / 255, colour[1] / 255, colour[2] / 255),
            edgecolor=MUTED,
            linewidth=0.5,
            label=shortened(name, 28),
        )
        for name, colour in [*shown, *([("undefined", (255, 255, 255))] if undefined else [])]
    ]


def characters(width: float, points: float) -> int:
    """How many characters fit in so many inches, on the safe side of the mean."""
    return int(width * 72 / (0.62 * points))


def shortened(text: str, most: int) -> str:
    """At most so many characters, an ellipsis for what is left out of the middle: ends tell names apart."""
    text = printable(text)
    if len(text) <= most:
        return text
    end = (most - 1) // 3
    return f"{text[: most - 1 - end].rstrip()}…{text[len(text) - end :].lstrip()}"


def coloured(labels: NDArray[np.uint8], classes: ClassInfo) -> NDArray[np.uint8]:
    """(H, W) -> (H, W, 3); a pixel without a class is white."""
    colours = np.full((IGNORE + 1, 3), 255, dtype=np.uint8)
    colours[: len(classes)] = classes.palette
    return colours[labels]
