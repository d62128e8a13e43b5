"""The paper's figure of queries: the confidence in each pixel, and which are easy or hard queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from recoseg.figures.image_grid import NO_LABEL, Panel, draw_image_grid
from recoseg.figures.sheet import MUTED
from recoseg.losses.regional_contrast.choosing import QUERIES, ContrastPixels
from recoseg.text import percent


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
        no_label = int(NO_LABEL[1:3], 16)
        grey = np.where(np.isnan(self.own_probability), no_label, np.where(chosen, 255, 0))
        return grey.astype(np.uint8)[..., None].repeat(3, axis=2)


def draw_queries(
    path: Path, image: NDArray[np.uint8], maps: Sequence[QueryMap], *, whose: str = "true class"
) -> None:
    """A row for each run: the image (H, W, 3), the confidence in the `whose`, easy and hard queries."""
    from matplotlib.patches import Patch

    rows = []
    for one in maps:
        easy, hard = (percent(one.share(kind), digits=0, sign=" %") for kind in (one.easy, one.hard))
        rows.append([
            Panel(image, "Image", side=one.run if len(maps) > 1 else "", photo=True),
            Panel(one.own_probability, f"Confidence in the {whose}"),
            Panel(one.as_grey(one.easy), f"Easy queries (> {one.hard_below:g}): {easy}"),
            Panel(one.as_grey(one.hard), f"Hard queries (≤ {one.hard_below:g}): {hard}"),
        ])  # fmt: skip
    meanings = {"query": "white", "no query": "black"}
    if any(np.isnan(one.own_probability).any() for one in maps):
        meanings["no label"] = NO_LABEL
    handles = [
        Patch(facecolor=colour, edgecolor=MUTED, linewidth=0.5, label=name)
        for name, colour in meanings.items()
    ]
    draw_image_grid(path, rows, handles=handles, scale="confidence")
