"""Bilinear resizing."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def resize(x: Tensor, size: tuple[int, int] | torch.Size) -> Tensor:
    """(B, C, h, w) -> (B, C, height, width)."""
    return F.interpolate(x, size=(size[0], size[1]), mode="bilinear", align_corners=False)
