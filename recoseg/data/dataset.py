"""What every dataset offers: what is known of it, the keys of its subsets, and images apart from labels."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recoseg.errors import UserError
from recoseg.types import ClassInfo, Sample

if TYPE_CHECKING:
    from torch import Tensor

SUBSETS = ("train", "val", "test")


@dataclass(frozen=True)
class Partition:
    """A column of published tables: so many labelled images, and how they are found.

    `draw` is "paper", its rule of many classes in each, "random", or "list": a list that others published.
    """

    labels: int
    draw: str
    images_per_class: int | None = None


def paper_partitions(*labels: int) -> tuple[Partition, ...]:
    """Those of the paper's own tables: with 5, 15 and 50 images of every class."""
    return tuple(Partition(n, "paper", each) for n, each in zip(labels, (5, 15, 50), strict=True))


class Dataset(ABC):
    """Images with class labels for some or all of them.

    Image and labels are read by separate methods so that an image whose labels are hidden or missing
    never needs a label file.
    """

    name: str  # in settings and split files
    title: str  # as people call it
    short_name: str  # in the names of partitions, and of columns and profiles of tables
    classes: ClassInfo
    min_classes: int = 1  # that an image must show to be drawn by the paper's rule
    paper_size: tuple[int, int] | None = None  # (height, width) in the paper; None where images keep theirs
    partitions: tuple[Partition, ...] = ()
    partial: bool = False  # whether labels are a few marks in an image, rather than whole masks
    is_divided: bool = True  # whether lists or settings say which image is for what

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


_KNOWN = tuple(Dataset.__annotations__)


class Wrapper(Dataset):
    """Another dataset, with all that is known of it."""

    def __init__(self, source: Dataset) -> None:
        self.source = source
        vars(self).update({name: getattr(source, name) for name in _KNOWN if hasattr(source, name)})

    def keys(self, subset: str) -> Sequence[str]:
        return self.source.keys(subset)

    def has_labels(self, key: str) -> bool:
        return self.source.has_labels(key)

    def image(self, key: str) -> Tensor:
        return self.source.image(key)

    def labels(self, key: str) -> Tensor:
        return self.source.labels(key)

    def fingerprint(self) -> str:
        return self.source.fingerprint()


class Cached(Wrapper):
    """Remembers decoded images and labels of another dataset, as long as a budget of memory lasts."""

    def __init__(self, source: Dataset, *, budget_bytes: int) -> None:
        super().__init__(source)
        self._remaining = budget_bytes
        self._stored: dict[tuple[str, str], Tensor] = {}

    def image(self, key: str) -> Tensor:
        return self._remember("image", key, self.source.image)

    def labels(self, key: str) -> Tensor:
        return self._remember("labels", key, self.source.labels)

    def _remember(self, what: str, key: str, read: Callable[[str], Tensor]) -> Tensor:
        if (what, key) in self._stored:
            return self._stored[what, key]
        tensor = read(key)
        if tensor.nbytes <= self._remaining:
            self._stored[what, key] = tensor
            self._remaining -= tensor.nbytes
        return tensor
