"""DeepLabV2 (Chen et al., 2017): four dilated convolutions on the encoder's output, summed."""

from __future__ import annotations

from torch import Tensor, nn

from recoseg.models.encoders import Encoder, EncoderOutput
from recoseg.models.layers import Normalise, enlarge_images, initialise, quiet, zero
from recoseg.models.linear_probe import LinearProbe
from recoseg.models.network import SegmentationNetwork, require_images
from recoseg.types import ModelOutput

RATES = (6, 12, 18, 24)


class _SummedPyramid(nn.Module):
    """The sum of 3x3 convolutions of several dilations: DeepLabV2's classifier."""

    def __init__(self, inputs: int, outputs: int, *, rates: tuple[int, ...]) -> None:
        super().__init__()
        self.branches = nn.ModuleList(
            nn.Conv2d(inputs, outputs, 3, padding=rate, dilation=rate) for rate in rates
        )

    def forward(self, x: Tensor) -> Tensor:
        first, *others = (branch(x) for branch in self.branches)
        total: Tensor = first
        for other in others:
            total = total + other
        return total


class DeepLabV2(SegmentationNetwork):
    """Images in [0, 1], (B, 3, H, W) -> logits (B, K, H/s, W/s) at the encoder's stride s, 8 in the paper.

    The representation head is one 1x1 convolution on the encoder's output.
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
    ) -> None:
        super().__init__()
        self.enlarge = enlarge
        self.normalise = Normalise(mean=encoder.mean, std=encoder.std)
        self.classifier = _SummedPyramid(encoder.high_channels, num_classes, rates=RATES)
        self.apply(initialise)
        for branch in self.classifier.branches:
            quiet(branch)
        self.representation = (  # after apply: a seed gives the same network with and without it
            nn.Conv2d(encoder.high_channels, feature_channels, 1).apply(initialise)
            if feature_channels
            else None
        )
        self.encoder = encoder  # after apply: it comes initialised, or pretrained
        self.probe = LinearProbe(encoder.level_channels, num_classes) if probe else None
        if probe:  # the decoder adds to the probe's logits and starts with nothing to add
            for branch in self.classifier.branches:
                zero(branch)

    def encode(self, images: Tensor) -> EncoderOutput:
        require_images(images, smallest=self.encoder.output_stride)
        normalised = enlarge_images(self.normalise(images), self.enlarge)
        if self.probe is not None:
            return EncoderOutput(self.encoder.levels(normalised))
        encoded: EncoderOutput = self.encoder(normalised)
        return encoded

    def decode(self, encoded: EncoderOutput) -> ModelOutput:
        features = self.representation(encoded.high) if self.representation is not None else None
        logits = self.classifier(encoded.high)
        if self.probe is not None:
            logits = logits + self.probe(self.levels(encoded), logits.shape[2:])
        return ModelOutput(logits=logits.contiguous(), features=features)

    def decoded_channels(self) -> int:
        return self.encoder.high_channels

    def forward(self, images: Tensor) -> ModelOutput:
        return self.decode(self.encode(images))
