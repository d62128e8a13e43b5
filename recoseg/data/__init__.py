"""Datasets by name: files -> images and labels."""

from collections.abc import Callable

from recoseg.data.base import Dataset
from recoseg.data.camvid import CamVid
from recoseg.data.cityscapes import Cityscapes
from recoseg.data.folder import Folder
from recoseg.data.pascal_voc import PascalVOC
from recoseg.data.scenes import Scenes
from recoseg.data.sun_rgbd import SunRGBD

DATASETS: dict[str, Callable[..., Dataset]] = {
    "scenes": Scenes,
    "folder": Folder,
    "pascal_voc": PascalVOC,
    "cityscapes": Cityscapes,
    "sun_rgbd": SunRGBD,
    "camvid": CamVid,
}

__all__ = ["DATASETS", "Dataset"]
