"""Pictures of one step: the mixed image, its pseudo-label in the dataset's colours, and its confidence."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from recoseg.types import IGNORE, PseudoLabels


def step_pictures(
    images: Tensor, pseudo: PseudoLabels, palette: Sequence[tuple[int, int, int]], most: int = 4
) -> Tensor:
    """(B, 3, H, W) and labels -> (up to `most`, 3, H, 3 * W) in [0, 1]; a pixel without label is black."""
    colours = torch.zeros(IGNORE + 1, 3)
    colours[: len(palette)] = torch.tensor(palette).float() / 255
    labels = colours[pseudo.labels[:most].cpu()].movedim(3, 1)  # (B, 3, H, W)
    confidence = pseudo.confidence[:most, None].cpu().float().expand(-1, 3, -1, -1)
    return torch.cat([images[:most].detach().cpu().float(), labels, confidence], dim=3)
