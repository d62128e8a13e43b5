"""Every setting of a run as frozen dataclasses: defaults are the paper's, the help text is beside them.

Only plain Python here: reading a config, or printing its help, imports nothing heavy. A field's name is
the keyword of the class that `build.py` passes it to.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal


def setting(
    default: Any,
    help: str,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    above: float | None = None,
    is_path: bool = False,
) -> Any:
    """A dataclass field with its help text and the range of values that make sense.

    A path that exists is made absolute, so that a run can be resumed from another folder.
    """
    limits = {"at_least": at_least, "at_most": at_most, "above": above}
    given = {name: value for name, value in limits.items() if value is not None}
    metadata = {"help": help, "limits": given, "is_path": is_path}
    return field(metadata=metadata) if default is REQUIRED else field(default=default, metadata=metadata)


REQUIRED = object()
"""As a default: the setting has none and must be given."""


@dataclass(frozen=True, kw_only=True)
class ScenesData:
    """Street scenes drawn by recoseg itself; nothing is downloaded."""

    name: Literal["scenes"] = "scenes"
    height: int = setting(128, "height of an image in pixels", at_least=16)
    width: int = setting(256, "width of an image in pixels", at_least=16)
    num_train: int = setting(256, "number of training images", at_least=1)
    num_val: int = setting(64, "number of validation images", at_least=1)
    num_test: int = setting(0, "number of test images", at_least=0)
    seed: int = setting(0, "seed of the drawings", at_least=0, at_most=2**32 - 1)


@dataclass(frozen=True, kw_only=True)
class FolderData:
    """Your own images: a folder with images/ and labels/, see docs/own_data.md."""

    name: Literal["folder"] = "folder"
    root: str = setting(REQUIRED, "the folder that holds images/ and labels/", is_path=True)
    val_share: float = setting(
        0.2,
        "share of the labelled images kept for validation where no val.txt names them",
        above=0,
        at_most=0.9,
    )
    seed: int = setting(0, "seed of that choice", at_least=0)


@dataclass(frozen=True, kw_only=True)
class PascalVOCData:
    """Pascal VOC 2012 as its owner publishes it, see docs/datasets.md."""

    name: Literal["pascal_voc"] = "pascal_voc"
    root: str = setting(REQUIRED, "VOC2012, VOCdevkit, or the folder that holds it", is_path=True)


@dataclass(frozen=True, kw_only=True)
class CityscapesData:
    """Cityscapes as its owner publishes it, see docs/datasets.md."""

    name: Literal["cityscapes"] = "cityscapes"
    root: str = setting(REQUIRED, "the folder that holds leftImg8bit/ and gtFine/", is_path=True)


@dataclass(frozen=True, kw_only=True)
class SunRGBDData:
    """SUN RGB-D with 37 classes, see docs/datasets.md."""

    name: Literal["sun_rgbd"] = "sun_rgbd"
    root: str = setting(REQUIRED, "the folder that holds the folders of images and labels", is_path=True)
    split: Literal["paper", "original"] = setting(
        "paper", "paper: 9,860 images to train on and 475 to validate on; original: 5,285 and 5,050"
    )


@dataclass(frozen=True, kw_only=True)
class CamVidData:
    """CamVid with 11 classes, see docs/datasets.md."""

    name: Literal["camvid"] = "camvid"
    root: str = setting(
        REQUIRED, "the folder that holds train/ and trainannot/, or the owner's 32 colours", is_path=True
    )


@dataclass(frozen=True, kw_only=True)
class SplitSettings:
    """Which labels the run may see."""

    file: str | None = setting(
        None, "a split file to use; otherwise the split is drawn and saved in the run folder", is_path=True
    )
    labels: int | None = setting(
        None,
        "number of labelled training images to use, drawn by the paper's rule: many classes in each, rare "
        "classes as often as others; all if none",
        at_least=1,
    )
    images_per_class: int | None = setting(
        None,
        "draw until every class is in this many images; beside labels: in this many of them",
        at_least=1,
    )
    fraction: str | None = setting(None, "in place of labels: a share of the labelled images, such as 1/8")
    min_classes: int | None = setting(
        None,
        "classes that an image must have to be drawn; if none, the paper's: cityscapes 12, pascal_voc 3, "
        "else 1 (a prepared dataset is a folder: give it, or a partition)",
        at_least=1,
    )
    random: bool = setting(False, "draw the images without regard to their classes")
    partition: str | None = setting(
        None, "a partition of the paper's tables, such as cityscapes-20, voc-60, voc-1323 or sun-50"
    )
    labelled_list: str | None = setting(
        None,
        "a published list of the labelled images: one key or path a line, or 'image label' paths",
        is_path=True,
    )
    unlabelled_list: str | None = setting(
        None, "a list of the unlabelled images; if none, all that are not in labelled_list", is_path=True
    )
    pixels: str | None = setting(
        None, "labelled pixels of each class in each labelled image: 1, or a percentage such as 5%"
    )
    seed: int = setting(0, "seed of the draw", at_least=0)


@dataclass(frozen=True, kw_only=True)
class AugmentSettings:
    """How training crops are cut and altered."""

    crop: tuple[int, int] = setting(
        (321, 321), "height x width of a training crop; smaller images are padded", at_least=16
    )
    scale: tuple[float, float] = setting(
        (0.5, 1.5), "range of the random scale; 1,1 for none", above=0, at_most=16
    )
    flip: float = setting(0.5, "probability of a horizontal flip", at_least=0, at_most=1)
    jitter: float = setting(0.8, "probability of colour jitter", at_least=0, at_most=1)
    blur: float = setting(0.5, "probability of Gaussian blur", at_least=0, at_most=1)


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


@dataclass(frozen=True, kw_only=True)
class SupervisedMethod:
    """Cross-entropy on the labelled images alone."""

    name: Literal["supervised"] = "supervised"


@dataclass(frozen=True, kw_only=True)
class OptimiserSettings:
    """SGD with the learning rate annealed at every iteration."""

    lr: float = setting(2.5e-3, "learning rate at the start", above=0)
    momentum: float = setting(0.9, "momentum", at_least=0, at_most=1)
    nesterov: bool = setting(True, "Nesterov's form of momentum")
    weight_decay: float = setting(5e-4, "weight decay", at_least=0)
    power: float = setting(0.9, "the rate at iteration t is lr * (1 - t / iterations) ** power", at_least=0)


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """The training loop."""

    iterations: int = setting(40_000, "number of optimiser steps", at_least=1)
    labelled_per_step: int = setting(10, "labelled images in a step", at_least=1)
    seed: int = setting(0, "seed of weights, order and augmentation", at_least=0)
    evaluate_every: int = setting(1_000, "iterations between evaluations (and saved states)", at_least=1)
    log_every: int = setting(10, "iterations between logged losses", at_least=1)
    device: str = setting("auto", "cpu, cuda, cuda:1, mps; auto takes a GPU where there is one")
    workers: int = setting(0, "processes that load images; 0 loads in the main one", at_least=0)
    cache_gb: float = setting(2.0, "memory for decoded images, in GB", at_least=0)


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """All that decides the outcome of a run."""

    data: ScenesData | FolderData | PascalVOCData | CityscapesData | SunRGBDData | CamVidData = field(
        default_factory=ScenesData
    )
    split: SplitSettings = field(default_factory=SplitSettings)
    augment: AugmentSettings = field(default_factory=AugmentSettings)
    model: DeepLabV3PlusModel = field(default_factory=DeepLabV3PlusModel)
    method: SupervisedMethod = field(default_factory=SupervisedMethod)
    optimiser: OptimiserSettings = field(default_factory=OptimiserSettings)
    train: TrainSettings = field(default_factory=TrainSettings)
