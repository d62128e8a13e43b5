"""Counting predictions against the truth."""

from __future__ import annotations

import torch
from torch import Tensor

from recoseg.errors import UserError
from recoseg.types import IGNORE


def confusion_matrix(predicted: Tensor, labels: Tensor, num_classes: int) -> Tensor:
    """(K, K) int64: how many pixels of class [row] were called [column]; IGNORE does not count.

    Both are uint8 of one shape. What is predicted where the label is IGNORE does not matter.
    """
    # IGNORE is a row of its own, cut off at the end: cheaper than to pick out the pixels that count.
    cell = torch.add(predicted, labels.to(torch.int32), alpha=IGNORE + 1).flatten()
    counts = torch.bincount(cell, minlength=(IGNORE + 1) ** 2).view(IGNORE + 1, IGNORE + 1)
    counted = counts[:num_classes, :num_classes]
    if int(counts[:IGNORE].sum()) != int(counted.sum()):
        raise UserError(f"labels or predictions hold other classes than the {num_classes} from 0 on")
    return counted


def class_counts(labels: Tensor, num_classes: int) -> Tensor:
    """(K,) int64: how many pixels of uint8 `labels` each class has."""
    return torch.bincount(labels.flatten(), minlength=IGNORE + 1)[:num_classes]
