"""The dataset `folder`: people's own images."""

from recoseg.data.folder.dataset import Folder

__all__ = ["Folder"]
