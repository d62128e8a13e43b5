"""DeepLabV3+ (Chen et al., 2018): ASPP on deep features, joined with fine ones, and two heads on them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from recoseg.models.bilinear import resize
from recoseg.models.encoders import Encoder, EncoderOutput
from recoseg.models.layers import (
    ASPP,
    Normalise,
    conv_norm_relu,
    convolved_head,
    enlarge_images,
    initialise,
    quiet,
    zero,
)
from recoseg.models.linear_probe import LinearProbe
from recoseg.models.network import SegmentationNetwork, require_images
from recoseg.types import ModelOutput

_LOW_CHANNELS = 48
RATES = {8: (12, 24, 36), 16: (6, 12, 18), 32: (3, 6, 9)}
"""Output stride of the encoder -> dilations of ASPP: they span the same part of the image."""


class DeepLabV3Plus(SegmentationNetwork):
    """Images in [0, 1], (B, 3, H, W) -> logits (B, K, H/4, W/4), and features (B, D, H/4, W/4) if asked for.

    With `enlarge`, images are enlarged first, and the maps are larger by that factor. Both heads read
    the same decoder output of `decoder_width` + 48 channels, 304 in the paper.
    """

    passes_are_apart = True

    def __init__(
        self,
        *,
        encoder: Encoder,
        num_classes: int,
        feature_channels: int | None = None,
        probe: bool = False,
        enlarge: float = 1.0,
        decoder_width: int = 256,
        separable: bool = False,
        dropout: float = 0.1,
        rates: Sequence[int] | None = None,
        pooling_norm: bool = True,
    ) -> None:
        super().__init__()
        self.enlarge = enlarge
        self.normalise = Normalise(mean=encoder.mean, std=encoder.std)
        self.aspp = ASPP(
            encoder.high_channels,
            decoder_width,
            rates=rates or RATES[encoder.output_stride],
            separable=separable,
            dropout=dropout,
            pooling_norm=pooling_norm,
        )
        self.low = conv_norm_relu(encoder.low_channels, _LOW_CHANNELS, kernel=1)
        self._decoded_channels = decoded = decoder_width + _LOW_CHANNELS
        self.classifier = convolved_head(decoded, decoder_width, num_classes, separable=separable)
        self.apply(initialise)
        quiet(self.classifier[-1])
        self.representation = (  # after apply: a seed gives the same network with and without it
            convolved_head(decoded, decoder_width, feature_channels, separable=separable).apply(initialise)
            if feature_channels
            else None
        )
        self.encoder = encoder  # after apply: it comes initialised, or pretrained
        self.probe = LinearProbe(encoder.level_channels, num_classes) if probe else None
        if probe:  # the decoder adds to the probe's logits and starts with nothing to add
            zero(self.classifier[-1])

    def encode(self, images: Tensor) -> EncoderOutput:
        require_images(images, smallest=self.encoder.output_stride)
        normalised = enlarge_images(self.normalise(images), self.enlarge)
        if self.probe is not None:
            return EncoderOutput(self.encoder.levels(normalised))
        encoded: EncoderOutput = self.encoder(normalised)
        return encoded

    def decode(self, encoded: EncoderOutput) -> ModelOutput:
        low = self.low(encoded.low)  # (B, 48, H/4, W/4)
        high = resize(self.aspp(encoded.high), low.shape[2:])
        decoded = torch.cat([high, low], dim=1)  # (B, width + 48, H/4, W/4)
        features = self.representation(decoded) if self.representation is not None else None
        logits = self.classifier(decoded)
        if self.probe is not None:
            logits = logits + self.probe(self.levels(encoded), logits.shape[2:])
        return ModelOutput(logits=logits.contiguous(), features=features)

    def decoded_channels(self) -> int:
        return self._decoded_channels

    def forward(self, images: Tensor) -> ModelOutput:
        return self.decode(self.encode(images))
