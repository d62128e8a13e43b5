"""Datasets by name: files -> images and labels."""

from recoseg.data.base import Dataset
from recoseg.data.folder import Folder
from recoseg.data.scenes import Scenes

DATASETS: dict[str, type[Scenes] | type[Folder]] = {"scenes": Scenes, "folder": Folder}

__all__ = ["DATASETS", "Dataset"]
