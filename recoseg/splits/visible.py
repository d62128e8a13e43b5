"""A dataset seen through a split: the only way in which training reads labels, so hidden ones stay hidden."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from recoseg.data.base import Dataset
from recoseg.errors import UserError
from recoseg.splits.pixel_budget import PixelBudget
from recoseg.splits.split_file import LabelSplit


class VisibleLabels(Dataset):
    """`source` with the labels that `split` allows: all pixels of an image, a few of them, or none."""

    def __init__(self, source: Dataset, split: LabelSplit) -> None:
        self.source = source
        self.name, self.classes = source.name, source.classes
        self.pixels = None if split.pixels is None else PixelBudget.parse(split.pixels)
        self.points = split.points
        self.visible = frozenset(split.labelled)

    def keys(self, subset: str) -> Sequence[str]:
        return self.source.keys(subset)

    def has_labels(self, key: str) -> bool:
        return key in self.visible

    def image(self, key: str) -> Tensor:
        return self.source.image(key)

    def labels(self, key: str) -> Tensor:
        """The labels as far as they may be seen; the file of hidden ones is not even opened."""
        if key not in self.visible:
            raise UserError(f"the labels of {key!r} are hidden by the split")
        labels = self.source.labels(key)
        if self.pixels is None:
            return labels
        points = self.points.get(key, ())
        self.require_same_labels(key, labels)
        return torch.from_numpy(self.pixels.visible(labels.numpy(), points))

    def fingerprint(self) -> str:
        return self.source.fingerprint()

    def require_same_labels(self, key: str, labels: Tensor) -> None:
        """The points of the split must still lie on their classes."""
        height, width = labels.shape
        for label, row, column in self.points.get(key, ()):
            inside = 0 <= row < height and 0 <= column < width
            if not inside or int(labels[row, column]) != label:
                raise UserError(
                    f"{key}: the pixel of class {label} at row {row}, column {column} is not there any more; "
                    "the label changed since the split was drawn: draw it again"
                )
