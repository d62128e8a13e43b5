"""Which labels may be seen.

`label_split` is a split, its file, and a dataset seen through it. Splits are made by `labelled_images` (all
labels of a few images), `labelled_pixels` (a few pixels of every image) and `published` (partitions of
tables, lists); `class_index` counts classes for them.
"""

from recoseg.splits.class_index import ClassCounter, ClassIndex
from recoseg.splits.label_split import LabelSplit, VisibleLabels
from recoseg.splits.labelled_images import all_labels, few_images, random_images, some_unlabelled
from recoseg.splits.labelled_pixels import PixelBudget, few_pixels
from recoseg.splits.published import PARTITIONS, listed_images, partition_images

__all__ = [
    "PARTITIONS",
    "ClassCounter",
    "ClassIndex",
    "LabelSplit",
    "PixelBudget",
    "VisibleLabels",
    "all_labels",
    "few_images",
    "few_pixels",
    "listed_images",
    "partition_images",
    "random_images",
    "some_unlabelled",
]
