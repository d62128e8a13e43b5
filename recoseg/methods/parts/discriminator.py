"""The discriminator of S4GAN: does a class map look like one that a person drew for this image?"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import functional_call

from recoseg.errors import UserError

WIDTHS = (64, 128, 256, 512)
_SMALLEST = 2 ** len(WIDTHS)  # each convolution halves the image; this size leaves one cell


@dataclass(frozen=True)
class Judgement:
    """What the discriminator says of its images."""

    features: Tensor  # (B, 512), means over the image
    scores: Tensor  # (B,), before the sigmoid; high: drawn by a person


class Discriminator(nn.Module):
    """Four 4x4 convolutions of stride 2, the mean over the image, one score. Any size from 16x16 on."""

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

    def forward(self, images: Tensor, maps: Tensor) -> Judgement:
        """Images (B, 3, H, W) in [0, 1] and maps (B, K, H, W) of class probabilities."""
        if min(images.shape[2:]) < _SMALLEST:
            height, width = images.shape[2:]
            raise UserError(
                f"s4gan needs images of at least {_SMALLEST}x{_SMALLEST} pixels, got {height}x{width}: "
                "use larger crops"
            )
        features = self.layers(torch.cat([images, maps], 1)).mean((2, 3))  # (B, 512)
        return Judgement(features, self.score(features).squeeze(1))

    def judge_without_learning(self, images: Tensor, maps: Tensor) -> Judgement:
        """The same, with gradients for the maps and none for the discriminator."""
        fixed = {name: parameter.detach() for name, parameter in self.named_parameters()}
        judgement: Judgement = functional_call(self, fixed, (images, maps))
        return judgement
