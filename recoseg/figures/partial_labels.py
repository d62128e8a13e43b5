"""The paper's figure of partial labels: one image with a pixel, 1 %, 5 % and 25 % of each class labelled."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import minimum_filter

from recoseg.figures.class_boxes import ClassBoxes, coloured
from recoseg.figures.sheet import sheet
from recoseg.splits.pixel_budget import PixelBudget
from recoseg.splits.split_file import Point
from recoseg.types import ClassInfo

BUDGETS = {"1": "1 pixel (zoomed 5 times)", "1%": "1 % labels", "5%": "5 % labels", "25%": "25 % labels"}
ZOOM = 5

# The layout, in inches.
PANEL = 3.2
GAP = 0.1
TITLE = 0.32


def draw_partial_labels(
    path: Path,
    labels: NDArray[np.uint8],
    points: Sequence[Point],
    classes: ClassInfo,
    *,
    used: str | None = None,
) -> None:
    """Writes the figure of one image; `used` is the budget of the split, whose title is marked."""
    budgets = BUDGETS if used is None or used in BUDGETS else {**BUDGETS, used: f"{used} labels"}
    panels = {budget: panel(labels, points, budget, classes) for budget in budgets}
    height, width = panels["1"].shape[:2]
    panel_height = PANEL * height / width
    wide = len(panels) * (PANEL + GAP) + GAP
    boxes = ClassBoxes.of(classes, [label for label, _, _ in points], wide - 2 * GAP, undefined=True)
    high = TITLE + panel_height + GAP + boxes.height + GAP
    with sheet(path, width=wide, height=high, dots=width / PANEL) as page:  # pixel for pixel
        for number, (budget, pixels) in enumerate(panels.items()):
            axes = page.picture(GAP + number * (PANEL + GAP), TITLE, PANEL, panel_height, pixels)
            title = f"{budgets[budget]}, this split" if budget == used else budgets[budget]
            axes.set_title(title, fontsize=10, style="italic", pad=4)
        boxes.draw(page, GAP, TITLE + panel_height + GAP)


def panel(
    labels: NDArray[np.uint8], points: Sequence[Point], budget: str, classes: ClassInfo
) -> NDArray[np.uint8]:
    """(H, W, 3) colours of what is seen; small images are enlarged by a whole number."""
    seen = PixelBudget.parse(budget).visible(labels, points)
    if budget == "1":
        seen = minimum_filter(seen, size=ZOOM)  # IGNORE is the highest value: every class grows into it
    factor = max(1, -(-320 // labels.shape[1]))
    enlarged: NDArray[np.uint8] = coloured(seen, classes).repeat(factor, axis=0).repeat(factor, axis=1)
    return enlarged
