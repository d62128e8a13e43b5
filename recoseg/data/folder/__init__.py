"""The dataset `folder`: people's own images.

`folder` is the dataset and how validation images are chosen, `listing` finds files and reads lists,
`class_list` says what the values or colours of labels mean.
"""

from recoseg.data.folder.folder_dataset import Folder

__all__ = ["Folder"]
