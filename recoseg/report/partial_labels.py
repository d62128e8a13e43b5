"""The paper's figure of partial labels: one image with a pixel, 1 %, 5 % and 25 % of each class labelled."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import minimum_filter

from recoseg.files import write_whole
from recoseg.splits.pixel_budget import PixelBudget
from recoseg.splits.split_file import Point
from recoseg.types import IGNORE, ClassInfo

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BUDGETS = {"1": "1 pixel (zoomed 5 times)", "1%": "1 % labels", "5%": "5 % labels", "25%": "25 % labels"}
ZOOM = 5
UNDEFINED = (255, 255, 255)

# The layout, in inches.
PANEL = 3.2
GAP = 0.1
TITLE = 0.32
BOX = 0.28
BOXES_A_ROW = 8


def draw_partial_labels(
    path: Path,
    labels: NDArray[np.uint8],
    points: Sequence[Point],
    classes: ClassInfo,
    *,
    used: str | None = None,
) -> None:
    """Writes the figure of one image as PNG; `used` is the budget of the split, whose title is marked."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    budgets = BUDGETS if used is None or used in BUDGETS else {**BUDGETS, used: f"{used} labels"}
    panels = {title: panel(labels, points, budget, classes) for budget, title in budgets.items()}
    height, width = next(iter(panels.values())).shape[:2]
    present = [label for label, _, _ in points]
    num_rows = -(-(len(present) + 1) // BOXES_A_ROW)
    wide = len(panels) * (PANEL + GAP) + GAP
    high = TITLE + PANEL * height / width + GAP + num_rows * (BOX + GAP / 2) + GAP
    figure = Figure(figsize=(wide, high), dpi=width / PANEL, facecolor="white")
    FigureCanvasAgg(figure)
    for number, (budget, title) in enumerate(budgets.items()):
        draw_panel(figure, panels[title], number, f"{title}, this split" if budget == used else title)
    draw_legend(figure, present, classes, num_rows)
    buffer = BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    write_whole(path, buffer.getvalue())


def panel(
    labels: NDArray[np.uint8], points: Sequence[Point], budget: str, classes: ClassInfo
) -> NDArray[np.uint8]:
    """(H, W, 3) colours of what is seen; small images are enlarged by a whole number."""
    seen = PixelBudget.parse(budget).visible(labels, points)
    if budget == "1":
        seen = minimum_filter(seen, size=ZOOM)  # IGNORE is the highest value: every class grows into it
    colours = np.full((IGNORE + 1, 3), UNDEFINED, dtype=np.uint8)
    colours[: len(classes)] = classes.palette
    factor = max(1, -(-320 // labels.shape[1]))
    enlarged: NDArray[np.uint8] = colours[seen].repeat(factor, axis=0).repeat(factor, axis=1)
    return enlarged


def draw_panel(figure: Figure, colours: NDArray[np.uint8], number: int, title: str) -> None:
    """One panel with its title, pixel for pixel, in a thin frame."""
    wide, high = figure.get_size_inches()
    height = PANEL * colours.shape[0] / colours.shape[1]
    left, bottom = GAP + number * (PANEL + GAP), high - TITLE - height
    axes = figure.add_axes((left / wide, bottom / high, PANEL / wide, height / high))
    axes.imshow(colours, interpolation="nearest", aspect="auto")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_title(title, fontsize=10, style="italic", pad=4)


def draw_legend(figure: Figure, present: Sequence[int], classes: ClassInfo, num_rows: int) -> None:
    """A box in the colour of each class with its name in it, and one for undefined pixels."""
    from matplotlib.patches import Rectangle

    wide, high = figure.get_size_inches()
    entries = [(classes.names[label], classes.palette[label]) for label in present]
    box = (wide - 2 * GAP) / BOXES_A_ROW
    for number, (name, colour) in enumerate([*entries, ("undefined", UNDEFINED)]):
        row, column = divmod(number, BOXES_A_ROW)
        left, bottom = GAP + column * box, GAP + (num_rows - 1 - row) * (BOX + GAP / 2)
        fill = tuple(value / 255 for value in colour)
        edge = "grey" if colour == UNDEFINED else fill
        place = (left / wide, bottom / high)
        figure.add_artist(
            Rectangle(
                place, (box - GAP / 2) / wide, BOX / high, facecolor=fill, edgecolor=edge, linewidth=0.5
            )
        )
        middle = ((left + (box - GAP / 2) / 2) / wide, (bottom + BOX / 2) / high)
        figure.text(*middle, name, ha="center", va="center", fontsize=9, color=text_colour(colour))


def text_colour(colour: tuple[int, int, int]) -> str:
    """White or black, whichever is easier to read on the colour."""
    red, green, blue = colour
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "white"
