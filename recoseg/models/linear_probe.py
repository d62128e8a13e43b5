"""A linear classifier on all levels of an encoder: where a network with `start="probe"` begins."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import torch
from torch import Tensor, nn

from recoseg.models.bilinear import resize
from recoseg.models.pointwise import pointwise_conv2d


class LinearProbe(nn.Module):
    """Levels (B, C_i, h_i, w_i) -> logits (B, K, h, w): one linear layer on standardised features.

    Enlarging and a 1x1 convolution commute, so each level is classified at its own resolution and its
    logits are enlarged instead of its features. A new probe has weights of zero; `recoseg.probe` fits them.
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, level_channels: Sequence[int], num_classes: int) -> None:
        super().__init__()
        self.level_channels = tuple(level_channels)
        channels = sum(self.level_channels)
        self.weight = nn.Parameter(torch.zeros(num_classes, channels))
        self.bias = nn.Parameter(torch.zeros(num_classes))
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("scale", torch.ones(channels))  # 1 / standard deviation

    @torch.no_grad()
    def set_(self, weight: Tensor, bias: Tensor, mean: Tensor, deviation: Tensor) -> None:
        """Take the weights (K, C) and the bias (K,) of a classifier of features (x - mean) / deviation."""
        for own, given in ((self.weight, weight), (self.bias, bias), (self.mean, mean)):
            own.copy_(given)
        self.scale.copy_(deviation.reciprocal())

    def forward(self, levels: Sequence[Tensor], size: tuple[int, int] | torch.Size) -> Tensor:
        weight = self.weight * self.scale  # (K, C), for features that are not standardised
        bias = self.bias - weight @ self.mean
        logits = [
            pointwise_conv2d(level, part[:, :, None, None])  # (B, K, h_i, w_i)
            for level, part in zip(levels, torch.split(weight, list(self.level_channels), dim=1), strict=True)
        ]
        total = bias[:, None, None]
        for _, same in groupby(logits, key=lambda one: one.shape[2:]):
            summed = torch.stack(list(same)).sum(0)
            total = total + (summed if summed.shape[2:] == size else resize(summed, size))
        return total


def join_levels(levels: Sequence[Tensor], size: tuple[int, int] | torch.Size) -> Tensor:
    """(B, C, h, w): all levels at one resolution, in the order of the probe's weights."""
    return torch.cat([level if level.shape[2:] == size else resize(level, size) for level in levels], 1)
