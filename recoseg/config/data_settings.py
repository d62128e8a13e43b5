"""Settings of the datasets: `data`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from recoseg.config.setting import REQUIRED, setting

MOST_SCENES = 1_000_000


@dataclass(frozen=True, kw_only=True)
class ScenesData:
    """Street scenes drawn by recoseg itself; nothing is downloaded."""

    name: Literal["scenes"] = "scenes"
    height: int = setting(128, "height of an image in pixels", at_least=16, at_most=8192)
    width: int = setting(256, "width of an image in pixels", at_least=16, at_most=8192)
    num_train: int = setting(256, "number of training images", at_least=1, at_most=MOST_SCENES)
    num_val: int = setting(64, "number of validation images", at_least=1, at_most=MOST_SCENES)
    num_test: int = setting(0, "number of test images", at_least=0, at_most=MOST_SCENES)
    seed: int = setting(0, "seed of the drawings", at_least=0, at_most=2**32 - 1)
    coarse: bool = setting(
        False, "five large groups of classes in place of sixteen; people, poles, lights and signs are void"
    )


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
    folds: int | None = setting(
        None,
        "cut the labelled images into so many parts instead, of which one validates: recoseg train --folds",
        at_least=2,
        at_most=1000,
    )
    fold: int = setting(1, "which of these parts validates, from 1 on", at_least=1)
    bit_depth: int | None = setting(
        None,
        "bits of 16-bit grey images that hold data, such as 12; recoseg train measures it unless it is given",
        at_least=8,
        at_most=16,
    )


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
