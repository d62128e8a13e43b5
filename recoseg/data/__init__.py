"""Where images and labels come from: datasets by name, files -> images and labels.

One adapter a dataset, with all that is known of it: `scenes/` (drawn), `folder/` (people's own),
`pascal_voc`, `cityscapes`, `sun_rgbd`, `camvid`. Below them: `dataset` (what all offer), `file_dataset`
(those that read files), `image_files`, `label_codes` and `list_files` (the formats), `problem` (what is
wrong with a file), `worker_processes`. On top: `check` (reads everything), `prepare` and `resize`.
"""

from recoseg.data.camvid import CamVid
from recoseg.data.cityscapes import Cityscapes
from recoseg.data.dataset import SUBSETS, Cached, Dataset, Partition
from recoseg.data.file_dataset import Entry, FileDataset
from recoseg.data.folder import Folder
from recoseg.data.image_files import read_image
from recoseg.data.pascal_voc import PascalVOC
from recoseg.data.problem import FileError, Problem
from recoseg.data.scenes import Scenes
from recoseg.data.sun_rgbd import SunRGBD

DATASETS: dict[str, type[Dataset]] = {
    "scenes": Scenes,
    "folder": Folder,
    "pascal_voc": PascalVOC,
    "cityscapes": Cityscapes,
    "sun_rgbd": SunRGBD,
    "camvid": CamVid,
}

__all__ = [
    "DATASETS",
    "SUBSETS",
    "Cached",
    "CamVid",
    "Cityscapes",
    "Dataset",
    "Entry",
    "FileDataset",
    "FileError",
    "Folder",
    "Partition",
    "PascalVOC",
    "Problem",
    "Scenes",
    "SunRGBD",
    "read_image",
]
