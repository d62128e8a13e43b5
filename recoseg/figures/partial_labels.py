"""The paper's figure of partial labels: one image with a pixel, 1 %, 5 % and 25 % of each class labelled."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import minimum_filter

from recoseg.figures.sheet import ClassBoxes, coloured, sheet
from recoseg.splits.labelled_pixels import PixelBudget, Point
from recoseg.types import ClassInfo

_BUDGETS = {"1": "1 pixel (zoomed 5 times)", "1%": "1 % labels", "5%": "5 % labels", "25%": "25 % labels"}
_ZOOM = 5

# The layout, in inches.
_PANEL = 3.2
_GAP = 0.1
_TITLE = 0.32


def draw_partial_labels(
    path: Path,
    labels: NDArray[np.uint8],
    points: Sequence[Point],
    classes: ClassInfo,
    *,
    used: str | None = None,
) -> None:
    """Writes the figure of one image; `used` is the budget of the split, whose title is marked."""
    budgets = _BUDGETS if used is None or used in _BUDGETS else {**_BUDGETS, used: f"{used} labels"}
    panels = {budget: panel(labels, points, budget, classes) for budget in budgets}
    height, width = panels["1"].shape[:2]
    panel_height = _PANEL * height / width
    wide = len(panels) * (_PANEL + _GAP) + _GAP
    boxes = ClassBoxes.of(classes, [label for label, _, _ in points], wide - 2 * _GAP, undefined=True)
    high = _TITLE + panel_height + _GAP + boxes.height + _GAP
    with sheet(path, width=wide, height=high, dots=width / _PANEL) as page:  # pixel for pixel
        for number, (budget, pixels) in enumerate(panels.items()):
            axes = page.picture(_GAP + number * (_PANEL + _GAP), _TITLE, _PANEL, panel_height, pixels)
            title = f"{budgets[budget]}, this split" if budget == used else budgets[budget]
            axes.set_title(title, fontsize=10, style="italic", pad=4)
        boxes.draw(page, _GAP, _TITLE + panel_height + _GAP)


def panel(
    labels: NDArray[np.uint8], points: Sequence[Point], budget: str, classes: ClassInfo
) -> NDArray[np.uint8]:
    """(H, W, 3) colours of what is seen; small images are enlarged by a whole number."""
    seen = PixelBudget.parse(budget).visible(labels, points)
    if budget == "1":
        seen = minimum_filter(seen, size=_ZOOM)  # IGNORE is the highest value: every class grows into it
    factor = max(1, -(-320 // labels.shape[1]))
    enlarged: NDArray[np.uint8] = coloured(seen, classes).repeat(factor, axis=0).repeat(factor, axis=1)
    return enlarged
