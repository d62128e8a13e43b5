"""The two heads of a network: one says which class a pixel has, the other gives it a place among pixels."""

from __future__ import annotations

from torch import nn

from recoseg.models.layers import conv_norm_relu


def convolved_head(inputs: int, width: int, outputs: int, *, separable: bool = False) -> nn.Sequential:
    """3x3 convolution, BatchNorm, ReLU, 1x1 convolution: DeepLabV3+'s classifier and representation head."""
    return nn.Sequential(conv_norm_relu(inputs, width, separable=separable), nn.Conv2d(width, outputs, 1))
