"""Settings of the datasets: `data`."""

from typing import Annotated, Literal

from msgspec import Meta

from recoseg.config.setting import FilePath, Kind, Number, Seed

Side = Annotated[int, Meta(ge=16, le=8192)]
MOST_SCENES = 1_000_000
Scenes = Annotated[int, Meta(ge=1, le=MOST_SCENES)]


class ScenesData(Kind, frozen=True, kw_only=True, tag="scenes"):
    """Street scenes drawn by recoseg itself; nothing is downloaded."""

    #: height of an image in pixels
    height: Side = 128
    #: width of an image in pixels
    width: Side = 256
    #: number of training images
    num_train: Scenes = 256
    #: number of validation images
    num_val: Scenes = 64
    #: number of test images
    num_test: Annotated[int, Meta(ge=0, le=MOST_SCENES)] = 0
    #: seed of the drawings
    seed: Annotated[int, Meta(ge=0, le=2**32 - 1)] = 0
    #: five large groups of classes instead of sixteen; people, poles, lights, signs are void
    coarse: bool = False


class FolderData(Kind, frozen=True, kw_only=True, tag="folder"):
    """Your own images: a folder with images/ and labels/, see docs/own_data.md."""

    #: the folder that holds images/ and labels/
    root: FilePath
    #: share of the labelled images kept for validation if val.txt does not name them
    val_share: Annotated[float, Meta(gt=0, le=0.9)] = 0.2
    #: seed of that choice
    seed: Seed = 0
    #: cut the labelled images into this many parts instead, one of which validates: recoseg train
    #: --folds
    folds: Annotated[int, Meta(ge=2, le=1000)] | None = None
    #: the part that validates, from 1 on
    fold: Number = 1
    #: bits of 16-bit grey images that hold data, such as 12; none: recoseg train measures it
    bit_depth: Annotated[int, Meta(ge=8, le=16)] | None = None


class PascalVOCData(Kind, frozen=True, kw_only=True, tag="pascal_voc"):
    """Pascal VOC 2012 as its owner publishes it, see docs/datasets.md."""

    #: VOC2012, VOCdevkit, or the folder that holds it
    root: FilePath


class CityscapesData(Kind, frozen=True, kw_only=True, tag="cityscapes"):
    """Cityscapes as its owner publishes it, see docs/datasets.md."""

    #: the folder that holds leftImg8bit/ and gtFine/
    root: FilePath


class SunRGBDData(Kind, frozen=True, kw_only=True, tag="sun_rgbd"):
    """SUN RGB-D with 37 classes, see docs/datasets.md."""

    #: the folder that holds the folders of images and labels
    root: FilePath
    #: paper: 9,860 images to train on and 475 to validate on; original: 5,285 and 5,050
    split: Literal["paper", "original"] = "paper"


class CamVidData(Kind, frozen=True, kw_only=True, tag="camvid"):
    """CamVid with 11 classes, see docs/datasets.md."""

    #: the folder that holds train/ and trainannot/, or the owner's 32 colours
    root: FilePath
