"""The paper's figure of partial labels: one image with a pixel, 1 %, 5 % and 25 % of each class labelled."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import minimum_filter

from recoseg.figures.image_grid import Panel, draw_image_grid
from recoseg.figures.sheet import class_handles, coloured
from recoseg.splits.labelled_pixels import PixelBudget, Point
from recoseg.types import ClassInfo

_BUDGETS = {"1": "1 pixel (enlarged)", "1%": "1 % labels", "5%": "5 % labels", "25%": "25 % labels"}
_ENLARGED = 5


def draw_partial_labels(
    path: Path,
    labels: NDArray[np.uint8],
    points: Sequence[Point],
    classes: ClassInfo,
    *,
    used: str | None = None,
) -> None:
    """Write the figure of one image; `used` is the budget of the split, whose title is marked."""
    budgets = _BUDGETS if used is None or used in _BUDGETS else {**_BUDGETS, used: f"{used} labels"}
    panels = [
        Panel(
            coloured(visible_labels(labels, points, budget), classes),
            f"{title}, this split" if budget == used else title,
        )
        for budget, title in budgets.items()
    ]
    handles = class_handles(classes, [label for label, _, _ in points], undefined=True)
    draw_image_grid(path, [panels], handles=handles)


def visible_labels(labels: NDArray[np.uint8], points: Sequence[Point], budget: str) -> NDArray[np.uint8]:
    """(H, W); single pixels are enlarged."""
    visible: NDArray[np.uint8] = PixelBudget.parse(budget).visible(labels, points)
    if budget == "1":
        # IGNORE is the highest value: every class grows into it.
        visible = minimum_filter(visible, size=_ENLARGED)
    return visible
