"""Losses over single pixels. With several processes each is the mean over the joined batch."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from recoseg.distributed import mean_over_processes, world_size
from recoseg.models.layers import resize
from recoseg.types import IGNORE, PseudoLabels


def pixel_cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean over the labelled pixels; 0, still connected to the graph, where there is none.

    (B, K, h, w) and (B, H, W) -> scalar. The logits are brought to the labels' size.
    """
    losses = F.cross_entropy(resize(logits, labels.shape[1:]), labels, ignore_index=IGNORE, reduction="sum")
    return losses / labelled_per_process(labels)


def confident_cross_entropy(logits: Tensor, pseudo: PseudoLabels, *, trust_above: float) -> Tensor:
    """Mean over the labelled pixels, each weighted by eta: how sure the teacher is of its image.

    Eta is the share of an image's labelled pixels whose confidence is at least `trust_above`.
    (B, K, h, w) and (B, H, W) -> scalar; 0, still connected to the graph, where nothing is labelled.
    """
    labels = pseudo.labels
    losses = F.cross_entropy(resize(logits, labels.shape[1:]), labels, ignore_index=IGNORE, reduction="none")
    eta = confident_share(pseudo, trust_above)  # (B,)
    return (losses.sum((1, 2)) * eta).sum() / labelled_per_process(labels)


def confident_share(pseudo: PseudoLabels, trust_above: float) -> Tensor:
    """(B,): the share of each image's labelled pixels with at least that confidence; 0 without any."""
    labelled = pseudo.labels != IGNORE
    confident = labelled & (pseudo.confidence >= trust_above)
    return confident.sum((1, 2)) / labelled.sum((1, 2)).clamp(min=1)


def labelled_per_process(labels: Tensor) -> Tensor:
    """The mean number of labelled pixels a process has; as if there were one in all where there is none."""
    return mean_over_processes((labels != IGNORE).sum()).clamp(min=1 / world_size())
