"""Losses over single pixels. With several processes each is the mean over the joined batch."""

from __future__ import annotations

import math
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor

from recoseg.distributed import mean_over_processes, world_size
from recoseg.models.bilinear import resize
from recoseg.types import IGNORE, PseudoLabels

Count = TypeVar("Count", int, Tensor)

_OHEM_PART = 6  # a sixth of the labelled pixels counts in any case: as in UniMatch's code for Cityscapes


def pixel_cross_entropy(
    logits: Tensor, labels: Tensor, class_weights: Tensor | None = None, *, ohem_below: float | None = None
) -> Tensor:
    """Mean over the labelled pixels; 0, still connected to the graph, where there is none.

    (B, K, h, w) and (B, H, W) -> scalar. The logits are brought to the labels' size. With `class_weights`
    (K,) a pixel counts as much as its class: a weighted mean. With `ohem_below` (online hard example mining)
    it is the mean over hard pixels alone: those whose own class has at most that probability, and at least
    the hardest sixth of the labelled ones.
    """
    logits = _at_size_of(labels, logits)
    if ohem_below is not None:
        labels = _hard_labels(logits, labels, ohem_below)
    losses = F.cross_entropy(logits, labels, class_weights, ignore_index=IGNORE, reduction="sum")
    if class_weights is None:
        return losses / _labelled_per_process(labels)
    weights = torch.cat([class_weights, class_weights.new_zeros(IGNORE + 1 - len(class_weights))])[labels]
    return losses / mean_over_processes(weights.sum()).clamp(min=1e-6)


@torch.no_grad()
def _hard_labels(logits: Tensor, labels: Tensor, below: float) -> Tensor:
    """(B, K, H, W), (B, H, W) -> the labels of hard pixels, IGNORE at the others."""
    losses = F.cross_entropy(logits, labels, ignore_index=IGNORE, reduction="none")  # 0 without a label
    # The number of labelled pixels stays on the device: so many as there can be are sorted, from the hardest.
    ordered = losses.flatten().topk(_sixth(losses.numel())).values
    num_hard = _sixth((labels != IGNORE).sum()).clamp(min=1)
    hardest = ordered.gather(0, num_hard[None] - 1)  # the least of the hardest sixth
    return labels.where(losses >= hardest.clamp(max=-math.log(below)), IGNORE)


def _sixth(number: Count) -> Count:
    """Rounded up."""
    return (number + _OHEM_PART - 1) // _OHEM_PART


def root_inverse_frequency(counts: Tensor) -> Tensor:
    """(K,) pixels of each class -> how much one of them counts, so that the mean over all pixels is 1.

    A class a hundred times as rare as another counts ten times as much; one without pixels, nothing.
    """
    weights = counts.double().clamp(min=1).rsqrt().where(counts > 0, 0)
    return (weights * counts.sum() / (weights * counts).sum().clamp(min=1e-12)).float()


def confident_cross_entropy(
    logits: Tensor, pseudo: PseudoLabels, *, trust_above: float | None, pixel_above: float | Tensor = 0.0
) -> Tensor:
    """Mean over the labelled pixels, each weighted by eta: how sure the teacher is of its image.

    Eta is the share of an image's labelled pixels whose confidence is at least `trust_above`, or with None
    their mean confidence. Pixels whose own confidence is below `pixel_above` add nothing to the sum, but
    count in the mean.
    (B, K, h, w) and (B, H, W) -> scalar; 0, still connected to the graph, where nothing is labelled.
    """
    labels = pseudo.labels.where(pseudo.confidence >= pixel_above, IGNORE)
    logits = _at_size_of(labels, logits)
    losses = F.cross_entropy(logits, labels, ignore_index=IGNORE, reduction="none")
    eta = sureness(pseudo, trust_above)  # (B,)
    return (losses.sum((1, 2)) * eta).sum() / _labelled_per_process(pseudo.labels)


def sureness(pseudo: PseudoLabels, trust_above: float | None) -> Tensor:
    """(B,): of each image's labelled pixels, the share with at least that confidence, or with None the mean.

    0 for an image without any.
    """
    labelled = pseudo.labels != IGNORE
    confidence = pseudo.confidence
    sure = labelled * (confidence if trust_above is None else confidence >= trust_above)
    return sure.sum((1, 2)) / labelled.sum((1, 2)).clamp(min=1)


def _at_size_of(labels: Tensor, logits: Tensor) -> Tensor:
    """(B, H, W), (B, K, h, w) -> (B, K, H, W); as they are, where somebody has enlarged them already."""
    return logits if logits.shape[2:] == labels.shape[1:] else resize(logits, labels.shape[1:])


def _labelled_per_process(labels: Tensor) -> Tensor:
    """The mean number of labelled pixels a process has; as if there were one in all where there is none."""
    return mean_over_processes((labels != IGNORE).sum()).clamp(min=1 / world_size())
