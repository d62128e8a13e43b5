"""Settings of the networks: `model`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from recoseg.config.setting import setting


@dataclass(frozen=True, kw_only=True)
class DeepLabV3PlusModel:
    """DeepLabV3+ (Chen et al., 2018), the paper's network."""

    name: Literal["deeplab_v3_plus"] = "deeplab_v3_plus"
    encoder: str = setting(
        "mobilenet_v2", "mobilenet_v2, resnet18, resnet34, resnet50, resnet101, resnet50_deep, resnet101_deep"
    )
    pretrained: str | None = setting(
        None, "encoder weights: a .pth or .safetensors file; none starts from random ones", is_path=True
    )
    decoder_width: int = setting(256, "channels of the decoder", at_least=8)
    separable: bool = setting(
        False, "depthwise-separable 3x3 convolutions in the decoder: half the time on a CPU"
    )
    dropout: float = setting(0.1, "dropout before the decoder", at_least=0, at_most=0.9)
