"""Losses over single pixels."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from recoseg.models.layers import resize
from recoseg.types import IGNORE


def pixel_cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean over the labelled pixels; 0, still connected to the graph, where there is none.

    (B, K, h, w) and (B, H, W) -> scalar. The logits are brought to the labels' size.
    """
    losses = F.cross_entropy(resize(logits, labels.shape[1:]), labels, ignore_index=IGNORE, reduction="sum")
    return losses / (labels != IGNORE).sum().clamp(min=1)
