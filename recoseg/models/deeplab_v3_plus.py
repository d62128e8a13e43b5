"""DeepLabV3+ (Chen et al., 2018): ASPP on deep features, joined with fine ones, and a classifier."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from recoseg.models.encoders import Encoder
from recoseg.models.initialise import initialise
from recoseg.models.layers import ASPP, Normalise, conv_norm_relu, resize
from recoseg.types import ModelOutput

LOW_CHANNELS = 48


class DeepLabV3Plus(nn.Module):
    """Images in [0, 1], (B, 3, H, W) -> logits (B, K, H/4, W/4)."""

    def __init__(
        self,
        *,
        encoder: Encoder,
        num_classes: int,
        decoder_width: int = 256,
        separable: bool = False,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.normalise = Normalise()
        self.aspp = ASPP(
            encoder.high_channels, decoder_width, rates=(6, 12, 18), separable=separable, dropout=dropout
        )
        self.low = conv_norm_relu(encoder.low_channels, LOW_CHANNELS, kernel=1)
        self.classifier = nn.Sequential(
            conv_norm_relu(decoder_width + LOW_CHANNELS, decoder_width, separable=separable),
            nn.Conv2d(decoder_width, num_classes, 1),
        )
        self.apply(initialise)
        self.encoder = encoder  # after apply: it comes initialised, or pretrained

    def forward(self, images: Tensor) -> ModelOutput:
        encoded = self.encoder(self.normalise(images))
        low = self.low(encoded.low)  # (B, 48, H/4, W/4)
        high = resize(self.aspp(encoded.high), low.shape[2:])
        decoded = torch.cat([high, low], dim=1)  # (B, width + 48, H/4, W/4)
        return ModelOutput(logits=self.classifier(decoded))
