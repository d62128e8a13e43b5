"""The pixels of a batch grouped by class, so that drawing one is `start + random * count`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

# Eq. 4: which pixels may be queries, by the probability (P,) that the network gives their own label.
QUERIES: dict[str, Callable[[Tensor, float], Tensor]] = {
    "hard": lambda own, hard_below: own <= hard_below,
    "random": lambda own, hard_below: torch.ones_like(own, dtype=torch.bool),
    "easy": lambda own, hard_below: own > hard_below,
}

_RANDOM_BITS = 31


def hardest(own: Tensor, labels: Tensor, num_classes: int, share: float) -> Tensor:
    """(B, h, w) bool: of each class the `share` of pixels with the lowest `own` probability, at least one.

    `own` (B, h, w) is NaN, and `labels` (B, h, w) is K, where a pixel takes no part.
    """
    labels, own = labels.flatten(), own.flatten().nan_to_num(nan=1.0).clamp(0, 1)
    order = (labels + own.double() / 2).argsort()  # by class, then from hard to easy
    counts = torch.bincount(labels, minlength=num_classes + 1)  # (K + 1,)
    place = torch.arange(len(labels), device=labels.device) - (counts.cumsum(0) - counts)[labels[order]]
    quota = (counts * share).ceil().clamp(min=1).long()
    quota[num_classes] = 0
    chosen = torch.zeros_like(labels, dtype=torch.bool)
    chosen[order] = place < quota[labels[order]]
    return chosen


@dataclass(frozen=True)
class Regions:
    """Which pixels belong to which class, and which of them may be queries.

    `order` lists all pixels: class 0, class 1, ..., and last those that take no part. Within a class those
    that may be queries come first, and both parts are shuffled: their first n are a fair draw.
    """

    order: Tensor  # (P,) pixel numbers
    starts: Tensor  # (K,) where in `order` a class begins
    counts: Tensor  # (K,) pixels of the class
    candidates: Tensor  # (K,) those that may be queries


def group_by_class(
    labels: Tensor, candidates: Tensor, num_classes: int, generator: torch.Generator | None
) -> Regions:
    """Sort pixels by class, candidates first, then at random.

    `labels` (B, h, w) int64, K for a pixel that takes no part; `candidates` (B, h, w) bool.
    """
    labels, candidates = labels.flatten(), candidates.flatten()  # (P,)
    random = torch.randint(1 << _RANDOM_BITS, labels.shape, generator=generator, device=labels.device)
    group = labels * 2 + ~candidates
    ascending, order = ((group << _RANDOM_BITS) | random).sort()
    # Class k holds the groups 2k (candidates) and 2k + 1 (the rest): where each begins gives every count.
    groups = torch.arange(2 * num_classes + 1, device=labels.device) << _RANDOM_BITS
    begins = torch.searchsorted(ascending, groups)  # (2K + 1,)
    starts, others = begins[:-1:2], begins[1::2]
    return Regions(order, starts, begins[2::2] - starts, others - starts)


def choose_queries(regions: Regions, classes: Tensor, num_queries: int) -> Tensor:
    """`num_queries` pixels of each of the given classes (C,) -> (C, Q) pixel numbers.

    Drawn without repeats while a class has enough candidates; a class with fewer goes round again, so that
    each of its candidates is used equally often, give or take one.
    """
    turn = torch.arange(num_queries, device=classes.device) % regions.candidates[classes, None]
    return regions.order[regions.starts[classes, None] + turn]
