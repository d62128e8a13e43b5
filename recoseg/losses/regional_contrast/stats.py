"""What a regional contrast tells of one step, so that one can see whether it works."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from recoseg.losses.regional_contrast.choosing import ContrastPixels, PresentClasses
from recoseg.losses.regional_contrast.prototypes import Prototypes


@dataclass(frozen=True)
class ContrastStats:
    """docs/regional_contrast.md says how to read them. Tensors stay on the device of the features."""

    relation_graph: Tensor  # (K, K) cosine between class means; NaN for a class that no process has
    active_classes: Tensor  # (K,) bool, classes that had queries here
    hard_share: Tensor  # (K,) share of a class's pixels at or below `hard_below`; NaN for an absent class
    accuracy: Tensor  # scalar, share of queries whose positive key is the nearest; NaN when inactive
    chance_level: float  # log(1 + M), the loss when keys cannot be told apart
    inactive_because: str | None  # why the loss is 0; None when it is active


def contrast_stats(
    means: Prototypes,
    pixels: ContrastPixels,
    classes: PresentClasses,
    ranked_first: Tensor | None,
    hard_below: float,
    num_keys: int,
) -> ContrastStats:
    """`ranked_first` (C, Q) bool, for the classes that ask; None when inactive."""
    absent = means.counts == 0
    active = torch.zeros_like(absent)
    if ranked_first is not None:
        active[classes.with_queries] = True
    accuracy = means.graph.new_full((), float("nan")) if ranked_first is None else ranked_first.float().mean()
    return ContrastStats(
        relation_graph=means.graph.masked_fill(absent[:, None] | absent, float("nan")),
        active_classes=active,
        hard_share=_hard_share(pixels, hard_below),
        accuracy=accuracy,
        chance_level=math.log1p(num_keys),
        inactive_because=classes.inactive_because,
    )


def _hard_share(pixels: ContrastPixels, hard_below: float) -> Tensor:
    """(K,); 0 / 0 is NaN: the class is absent."""
    labels = pixels.labels.flatten()
    hard = (pixels.own_probability <= hard_below).float().flatten()
    totals = hard.new_zeros(2, pixels.num_classes + 1)
    totals[0].index_add_(0, labels, hard)
    totals[1].index_add_(0, labels, torch.ones_like(hard))
    return (totals[0] / totals[1])[: pixels.num_classes]
