"""Discriminators: does a class map look like one that a person drew? As a whole, or at each pixel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from recoseg.errors import UserError
from recoseg.models.bilinear import resize
from recoseg.text import lookup

WIDTHS = (64, 128, 256, 512)


@dataclass(frozen=True)
class Judgement:
    """What the discriminator says of its images."""

    features: Tensor  # (B, 512), means over the image
    scores: Tensor  # (B,), before the sigmoid; high: drawn by a person


class Discriminator(nn.Module):
    """S4GAN's. Four 4x4 convolutions of stride 2, the mean over the image, one score. From 16x16 on."""

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for inputs, outputs in zip((num_classes + 3, *WIDTHS), WIDTHS, strict=False):
            layers += [
                nn.Conv2d(inputs, outputs, 4, stride=2, padding=1),
                nn.LeakyReLU(0.2, inplace=True),
                nn.Dropout2d(0.5),
            ]
        self.layers = nn.Sequential(*layers[:-1])  # no dropout after the last one
        self.score = nn.Linear(WIDTHS[-1], 1)
        self.smallest = smallest_side([2] * len(WIDTHS))

    def require_size(self, size: tuple[int, int]) -> None:
        require_side(size, self.smallest, who="s4gan")

    def forward(self, images: Tensor, maps: Tensor) -> Judgement:
        """Images (B, 3, H, W) in [0, 1] and maps (B, K, H, W) of class probabilities."""
        self.require_size((images.shape[2], images.shape[3]))
        features = self.layers(torch.cat([images, maps], 1)).float().mean((2, 3))  # (B, 512)
        return Judgement(features, self.score(features).squeeze(1))


class HalfBatchNorm(nn.Module):
    """BatchNorm for the first half of the channels, InstanceNorm without weights for the others."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.of_batch = nn.BatchNorm2d(channels // 2)
        self.of_image = nn.InstanceNorm2d(channels - channels // 2)

    def forward(self, x: Tensor) -> Tensor:
        first, second = x.tensor_split([self.of_batch.num_features], dim=1)
        return torch.cat([self.of_batch(first), self.of_image(second)], 1)


_NORMS: dict[str, Callable[[int], list[nn.Module]]] = {
    "none": lambda channels: [],
    "half": lambda channels: [HalfBatchNorm(channels)],
}


class PixelDiscriminator(nn.Module):
    """One number for each pixel: 4x4 convolutions with LeakyReLU between them, and bilinear to the image.

    `widths` and `strides` are those of all convolutions but the last, which has stride 2 and one output. With
    `norm` "half", half of the channels are normalised over the batch, half within their image. An image that
    leaves fewer than `least_cells` to a side is refused, and `who` needs it is named.
    """

    def __init__(
        self,
        inputs: int,
        *,
        who: str,
        widths: Sequence[int] = WIDTHS,
        strides: Sequence[int] = (2, 2, 2, 2),
        norm: Literal["none", "half"] = "none",
        least_cells: int = 1,
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for width, stride in zip(widths, strides, strict=True):
            layers.append(nn.Conv2d(inputs, width, 4, stride=stride, padding=1))
            layers += [*lookup(_NORMS, norm, what="norm")(width), nn.LeakyReLU(0.2, inplace=True)]
            inputs = width
        self.layers = nn.Sequential(*layers, nn.Conv2d(inputs, 1, 4, stride=2, padding=1))
        self.who, self.smallest = who, smallest_side([*strides, 2], cells=least_cells)

    def require_size(self, size: tuple[int, int]) -> None:
        require_side(size, self.smallest, who=self.who)

    def forward(self, maps: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, H, W) float32, before any sigmoid."""
        self.require_size((maps.shape[2], maps.shape[3]))
        scores = self.layers(maps).float()  # (B, 1, h, w)
        return resize(scores, maps.shape[2:])[:, 0]


def smallest_side(strides: Sequence[int], cells: int = 1) -> int:
    """The side of an image of which 4x4 convolutions of these strides, padded by 1, leave so many cells."""
    for stride in reversed(strides):
        cells = (cells - 1) * stride + 2
    return cells


def require_side(size: tuple[int, int], smallest: int, *, who: str) -> None:
    if min(size) < smallest:
        height, width = size
        raise UserError(
            f"{who} needs images of at least {smallest}x{smallest} pixels, got {height}x{width}: "
            "use larger crops"
        )


def class_maps(labels: Tensor, num_classes: int) -> Tensor:
    """(B, H, W) -> (B, K, H, W) bool: one-hot, and nothing where there is no label."""
    return labels[:, None] == torch.arange(num_classes, device=labels.device)[:, None, None]
