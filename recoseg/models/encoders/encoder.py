"""The encoder of a segmentation network: feature maps from stride 4 down to its output stride."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from recoseg.errors import UserError
from recoseg.models.layers import IMAGENET_MEAN, IMAGENET_STD


@dataclass(frozen=True)
class EncoderOutput:
    """The maps that a decoder reads, each (B, C, h, w): two, or all levels where a probe reads them too."""

    maps: tuple[Tensor, ...]  # from stride 4 to the output stride

    @property
    def low(self) -> Tensor:
        return self.maps[0]  # (B, low_channels, H/4, W/4)

    @property
    def high(self) -> Tensor:
        return self.maps[-1]  # (B, high_channels, H/s, W/s) at output stride s

    def with_maps(self, maps: Sequence[Tensor]) -> EncoderOutput:
        return EncoderOutput(tuple(maps))


class Encoder(nn.Module, ABC):
    """The feature extractor of a segmentation network; parameter names are those of its published weights."""

    level_channels: tuple[int, ...]
    """Channels of each map that `levels` returns."""
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

    @property
    def low_channels(self) -> int:
        return self.level_channels[0]

    @property
    def high_channels(self) -> int:
        return self.level_channels[-1]

    @abstractmethod
    def levels(self, images: Tensor) -> tuple[Tensor, ...]:
        """The last map of each width from stride 4 on, of normalised images (B, 3, H, W)."""

    def forward(self, images: Tensor) -> EncoderOutput:
        """The finest and the deepest level."""
        levels = self.levels(images)
        return EncoderOutput((levels[0], levels[-1]))
