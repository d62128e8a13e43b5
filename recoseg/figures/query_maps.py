"""The paper's figure of queries: how sure a network is of the pixels, and which are easy or hard queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from recoseg.figures.sheet import MUTED, Sheet, sheet, shortened
from recoseg.losses.regional_contrast.choosing import QUERIES, ContrastPixels
from recoseg.text import percent

_COLOURS = "viridis"
_NO_LABEL = 128  # grey

# The layout, in inches.
_PANEL = 3.2
_GAP = 0.1
_TITLE = 0.3
_SIDE = 0.3  # for the names of several runs
_FOOT = 0.45


@dataclass(frozen=True)
class QueryMap:
    """What the contrast would choose from one image; at the resolution of the features."""

    run: str
    own_probability: NDArray[np.float32]  # (h, w) of the pixel's own label; NaN where it takes no part
    easy: NDArray[np.bool_]  # (h, w)
    hard: NDArray[np.bool_]  # (h, w)
    hard_below: float

    @classmethod
    def of(cls, run: str, labels: Tensor, probabilities: Tensor, *, hard_below: float) -> QueryMap:
        """By the rule of the loss: labels (1, h, w), probabilities (1, K, h, w)."""
        pixels = ContrastPixels.of(labels, probabilities)
        own = pixels.own_probability[0]
        easy, hard = (QUERIES[kind](own, hard_below) for kind in ("easy", "hard"))  # NaN is neither
        return cls(run, own.cpu().numpy(), easy.cpu().numpy(), hard.cpu().numpy(), hard_below)

    def share(self, chosen: NDArray[np.bool_]) -> float:
        """Of the pixels that take part; 0 if none does."""
        return float(chosen.sum()) / max(1, int((~np.isnan(self.own_probability)).sum()))

    def as_grey(self, chosen: NDArray[np.bool_]) -> NDArray[np.uint8]:
        """White where chosen, black where not, grey where a pixel takes no part: (h, w, 3)."""
        grey = np.where(np.isnan(self.own_probability), _NO_LABEL, np.where(chosen, 255, 0))
        return grey.astype(np.uint8)[..., None].repeat(3, axis=2)


def draw_queries(
    path: Path, image: NDArray[np.uint8], maps: Sequence[QueryMap], *, whose: str = "true class"
) -> None:
    """A row for each run: the image (H, W, 3), the confidence in the `whose`, easy and hard queries."""
    side = _SIDE if len(maps) > 1 else 0.0
    panel_height = _PANEL * min(2.0, image.shape[0] / image.shape[1])
    row = _TITLE + panel_height + _GAP
    width, height = side + 4 * (_PANEL + _GAP) + _GAP, len(maps) * row + _FOOT
    with sheet(path, width=width, height=height) as page:
        for number, one in enumerate(maps):
            top = number * row + _TITLE
            easy, hard = (percent(one.share(kind), digits=0, sign=" %") for kind in (one.easy, one.hard))
            panels: dict[str, NDArray[Any]] = {
                "Image": image,
                f"Confidence in the {whose}": one.own_probability,
                f"Easy queries (> {one.hard_below:g}): {easy}": one.as_grey(one.easy),
                f"Hard queries (≤ {one.hard_below:g}): {hard}": one.as_grey(one.hard),
            }
            for column, (title, pixels) in enumerate(panels.items()):
                left = side + _GAP + column * (_PANEL + _GAP)
                how = {"cmap": _COLOURS, "vmin": 0, "vmax": 1} if pixels.ndim == 2 else {}
                axes = page.picture(left, top, _PANEL, panel_height, pixels, **how)
                axes.set_facecolor((_NO_LABEL / 255,) * 3)
                page.text(left + _PANEL / 2, top - _TITLE / 2, title, ha="center", fontsize=10)
            if side:
                place = side / 2 + _GAP / 2, top + panel_height / 2
                page.text(*place, shortened(one.run, 30), ha="center", rotation=90, fontsize=10)
        _draw_foot(page, side, height - _FOOT, void=any(np.isnan(one.own_probability).any() for one in maps))


def _draw_foot(page: Sheet, side: float, top: float, *, void: bool) -> None:
    """The scale under the confidence, and what black and white mean under the queries."""
    from matplotlib.cm import ScalarMappable

    left = side + _GAP + _PANEL + _GAP
    axes = page.axes(left + 0.05, top + 0.02, _PANEL - 0.1, 0.1)
    bar = page.figure.colorbar(ScalarMappable(cmap=_COLOURS), cax=axes, orientation="horizontal")
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=2, labelsize=8, colors=MUTED)
    meanings = {"query": "white", "no query": "black"}
    if void:
        meanings["no label"] = f"#{_NO_LABEL:02x}{_NO_LABEL:02x}{_NO_LABEL:02x}"
    left += _PANEL + _GAP
    for name, colour in meanings.items():
        page.box(left + 0.02, top + 0.04, 0.2, 0.14, facecolor=colour, edgecolor=MUTED, linewidth=0.5)
        page.text(left + 0.28, top + 0.11, name, fontsize=8, color=MUTED)
        left += 0.95
