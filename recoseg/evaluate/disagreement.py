"""Where predictions of an image disagree, who is right there, and the places that a reader should look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter
from torch import Tensor

from recoseg.types import IGNORE

BETTER, WORSE, BOTH_WRONG = 1, 2, 3
"""Where two runs answer differently: the other run is right, the first one is, neither is."""

NOBODY_RIGHT = 0.25
"""What a differing pixel counts where no prediction is right: it tells less."""
LEAST = 0.02
"""The mean weight of a place that is worth pointing at."""
_SHARE = 0.22
"""The side of a place, as a share of the image's."""


@dataclass(frozen=True)
class Spot:
    """A part of an image, in pixels, and the middle of what differs in it."""

    rows: slice
    columns: slice
    row: float
    column: float


def _disagreement(truth: Tensor, predictions: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """(H, W) where a pixel has a label and not all predict the same; (N, H, W) where each is right."""
    maps = torch.stack(list(predictions))  # (N, H, W)
    return (maps != maps[0]).any(0) & (truth != IGNORE), maps == truth


def difference(truth: Tensor, first: Tensor, other: Tensor) -> Tensor:
    """(H, W) uint8: BETTER, WORSE or BOTH_WRONG where two predictions differ; 0 elsewhere, and at void."""
    differ, (first_right, other_right) = _disagreement(truth, (first, other))
    kind = torch.full_like(truth, BOTH_WRONG)
    kind[other_right] = BETTER
    kind[first_right] = WORSE
    return kind.masked_fill_(~differ, 0)


def difference_weights(truth: Tensor, predictions: Sequence[Tensor]) -> Tensor:
    """(H, W) float64: how much each pixel sets the predictions apart; of a single one, where it is wrong.

    1 where they differ and one of them is right, less where all are wrong, 0 where nobody knows the truth.
    """
    if len(predictions) == 1:
        return ((truth != IGNORE) & (predictions[0] != truth)).double()
    differ, right = _disagreement(truth, predictions)
    return differ * torch.where(right.any(0), 1.0, NOBODY_RIGHT).double()


def spots(weights: NDArray[np.float64], most: int) -> list[Spot]:
    """At most so many places of equal size that do not overlap, those with the greatest weight first."""
    height, width = weights.shape
    size = max(1, round(_SHARE * height)), max(1, round(_SHARE * width))
    # The mean over a place, by its top left corner; one must lie whole within the image.
    mean = uniform_filter(weights, size=size, mode="constant", origin=(-(size[0] // 2), -(size[1] // 2)))
    mean = mean[: height - size[0] + 1, : width - size[1] + 1].copy()
    found: list[Spot] = []
    while len(found) < most:
        top, left = (int(place) for place in np.unravel_index(int(mean.argmax()), mean.shape))
        if mean[top, left] < LEAST:
            break
        found.append(_spot_at(weights, top, left, size))
        mean[max(0, top - size[0] + 1) : top + size[0], max(0, left - size[1] + 1) : left + size[1]] = 0
    return found


def _spot_at(weights: NDArray[np.float64], top: int, left: int, size: tuple[int, int]) -> Spot:
    inside = weights[top : top + size[0], left : left + size[1]]
    rows, columns = np.nonzero(inside)
    return Spot(
        slice(top, top + size[0]),
        slice(left, left + size[1]),
        top + float(np.median(rows)),
        left + float(np.median(columns)),
    )
