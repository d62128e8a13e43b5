"""A 1x1 convolution that is fast on one CPU thread too.

With one thread and fewer than 16 images, torch sends 1x1 convolutions past oneDNN to a slower kernel. A
1x1 convolution takes each pixel by itself, so the pixels may as well lie in 16 images.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_IMAGES = 16  # from so many on torch takes oneDNN


class PointwiseConv2d(nn.Conv2d):
    """A 1x1 convolution of stride 1."""

    def __init__(self, inputs: int, outputs: int, *, bias: bool = True) -> None:
        super().__init__(inputs, outputs, 1, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        return pointwise_conv2d(x, self.weight, self.bias)


def pointwise_conv2d(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """(B, C, H, W) and weights (K, C, 1, 1) -> (B, K, H, W)"""
    if not _is_slow(x, weight):
        return F.conv2d(x, weight, bias)
    count, channels, height, width = x.shape
    pixels = x.permute(0, 2, 3, 1).reshape(_IMAGES, 1, count * height * width // _IMAGES, channels)  # a view
    result = F.conv2d(pixels.permute(0, 3, 1, 2), weight, bias)
    return result.permute(0, 2, 3, 1).reshape(count, height, width, len(weight)).permute(0, 3, 1, 2)


def _is_slow(x: Tensor, weight: Tensor) -> bool:
    return (
        x.device.type == "cpu"
        and not torch.compiler.is_compiling()  # nor exporting
        and torch.get_num_threads() == 1
        and x.dtype == weight.dtype == torch.float32
        and not torch.is_autocast_enabled("cpu")
        and x.shape[0] < _IMAGES
        and x.shape[0] * x.shape[2] * x.shape[3] % _IMAGES == 0
        and x.is_contiguous(memory_format=torch.channels_last)
    )
