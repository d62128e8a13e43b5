"""Counting predictions against the truth."""

from __future__ import annotations

import torch
from torch import Tensor

from recoseg.types import IGNORE


def confusion_matrix(predicted: Tensor, labels: Tensor, num_classes: int) -> Tensor:
    """(K, K) int64: how many pixels of class [row] were called [column]; IGNORE does not count."""
    counted = labels != IGNORE
    cell = labels[counted] * num_classes + predicted[counted]
    return torch.bincount(cell, minlength=num_classes**2).view(num_classes, num_classes)
