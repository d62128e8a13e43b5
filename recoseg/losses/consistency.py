"""Losses between two soft answers for the same pixels: means over the joined batch of all processes."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from recoseg.distributed import mean_over_processes, world_size


def squared_error(logits: Tensor, target: Tensor, inside: Tensor | None = None) -> Tensor:
    """Mean over cells and classes of (softmax(logits) - target)^2.

    Both (B, K, h, w), the target as probabilities; of the cells `inside` (B, h, w) alone, if given: not of
    padding. 0, still connected to the graph, where there is none.
    """
    errors = (logits.float().softmax(1) - target).square().mean(1)  # (B, h, w)
    return mean_inside(errors, inside)


def divergence(logits: Tensor, target: Tensor, inside: Tensor | None = None) -> Tensor:
    """Mean over cells of KL(target || softmax(logits)), summed over the classes. Shapes as above."""
    errors = F.kl_div(logits.float().log_softmax(1), target, reduction="none").sum(1)  # (B, h, w)
    return mean_inside(errors, inside)


def mean_inside(values: Tensor, inside: Tensor | None = None) -> Tensor:
    """The mean of values (B, h, w), of those `inside` alone if given; 0 where there is none."""
    if inside is None:
        return values.mean()
    count = mean_over_processes(inside.sum()).clamp(min=1 / world_size())
    return (values * inside).sum() / count


def cells_inside(inside: Tensor | None, size: tuple[int, int]) -> Tensor | None:
    """(B, H, W) bool -> (B, h, w) bool: cells whose middle shows the image, not padding."""
    if inside is None or inside.shape[1:] == size:
        return inside
    return F.interpolate(inside[:, None].float(), size, mode="nearest-exact")[:, 0] > 0.5
