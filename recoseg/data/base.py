"""What every dataset offers: keys of its subsets, and an image or its labels for a key, read separately."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence

from torch import Tensor

from recoseg.errors import UserError
from recoseg.types import ClassInfo, Sample

SUBSETS = ("train", "val", "test")


class Dataset(ABC):
    """Images with class labels for some or all of them.

    Image and labels are read by separate methods so that an image whose labels are hidden or missing
    never needs a label file.
    """

    name: str
    classes: ClassInfo

    @abstractmethod
    def keys(self, subset: str) -> Sequence[str]:
        """The keys of `subset` (one of `SUBSETS`), always in the same order; empty if there is none."""

    @abstractmethod
    def has_labels(self, key: str) -> bool:
        """Whether `labels(key)` would find something to read."""

    @abstractmethod
    def image(self, key: str) -> Tensor:
        """The image, (3, H, W) uint8."""

    @abstractmethod
    def labels(self, key: str) -> Tensor:
        """The labels, (H, W) uint8, `IGNORE` where a pixel has none."""

    def sample(self, key: str) -> Sample:
        """The image with its labels, which must be of one size."""
        image, labels = self.image(key), self.labels(key)
        if image.shape[1:] != labels.shape:
            sizes = [f"{height}x{width}" for height, width in (image.shape[1:], labels.shape)]
            raise UserError(
                f"{key}: the image is {sizes[0]} but its labels are {sizes[1]}; see recoseg check"
            )
        return Sample(image, labels, key)

    def fingerprint(self) -> str:
        """Tells datasets apart by name, classes and keys; a split file carries it."""
        parts = [self.name, *self.classes.names]
        for subset in SUBSETS:
            parts += [f"[{subset}]", *self.keys(subset)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
