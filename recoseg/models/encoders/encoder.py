"""What a decoder needs of an encoder: fine features at stride 4, and deep ones at its output stride."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from recoseg.errors import UserError
from recoseg.models.layers import IMAGENET_MEAN, IMAGENET_STD


@dataclass(frozen=True)
class EncoderOutput:
    low: Tensor  # (B, low_channels, H/4, W/4)
    high: Tensor  # (B, high_channels, H/s, W/s) at output stride s

    @property
    def maps(self) -> tuple[Tensor, ...]:
        return self.low, self.high

    def with_maps(self, maps: Sequence[Tensor]) -> EncoderOutput:
        return EncoderOutput(*maps)


class Encoder(nn.Module, ABC):
    """The feature extractor of a segmentation network; parameter names are those of its published weights."""

    low_channels: int
    high_channels: int
    output_stride: int
    mean: tuple[float, float, float] = IMAGENET_MEAN
    std: tuple[float, float, float] = IMAGENET_STD
    """What images in [0, 1] are normalised by before they are handed over."""
    published_classifier: tuple[str, ...]
    """Beginnings of names in published weights: the ImageNet classifier, which no decoder needs."""

    def stages(self) -> list[list[nn.Module]]:
        """All layers in the order in which images pass them; each stage but the first begins with a stride,
        or with the dilation that stands in for one."""
        raise UserError(f"{type(self).__name__} does not say what its stages are: none of them can be frozen")

    @abstractmethod
    def forward(self, images: Tensor) -> EncoderOutput:
        """Features of images that are already normalised, (B, 3, H, W)."""
