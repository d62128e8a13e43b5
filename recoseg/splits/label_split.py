"""Which labels a run may see: a split as a file that people can read, and a dataset seen through it.

A run never re-draws a split silently, and `VisibleLabels` is the only way in which training reads labels, so
hidden ones stay hidden.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from recoseg.data.dataset import Dataset, Wrapper
from recoseg.errors import UserError
from recoseg.files import write_whole
from recoseg.records import Count, WrongFieldError, read_record
from recoseg.splits.labelled_pixels import PixelBudget, Point
from recoseg.types import IGNORE

if TYPE_CHECKING:
    from torch import Tensor

_POINT = re.compile(r"([0-9]{1,3}):([0-9]{1,9}),([0-9]{1,9})")


class _SplitContent(TypedDict):
    """What is in a split file, in this order."""

    dataset: str
    fingerprint: str
    builder: str
    settings: NotRequired[dict[str, Any]]
    seed: NotRequired[int | None]
    pixels: NotRequired[str | None]
    class_counts: NotRequired[dict[str, Count]]
    labelled: list[str]
    unlabelled: list[str]
    points: NotRequired[dict[str, str]]


def _require_sense(content: Mapping[str, Any]) -> None:
    """A rule for split files: what is in them goes together."""
    keys = [*content["labelled"], *content["unlabelled"]]
    if len(set(keys)) < len(keys):
        raise ValueError(f"a key is named twice: {next(key for key in keys if keys.count(key) > 1)!r}")
    points = content.get("points", {})
    if (content.get("pixels") is None) != (not points):
        raise ValueError("'pixels' and 'points' go together")
    if points:
        PixelBudget.parse(content["pixels"])
    labelled = set(content["labelled"])
    for key, text in points.items():
        if key not in labelled:
            raise WrongFieldError(f"points.{key}", "is no labelled image")
        for word in text.split():
            found = _POINT.fullmatch(word)
            if found is None or int(found[1]) >= IGNORE:
                raise WrongFieldError(f"points.{key}", f"must have points such as 0:12,3, not {word[:20]!r}")


@dataclass(frozen=True)
class LabelSplit:
    """The training keys whose labels may be seen, those whose labels may not, and how they were chosen.

    With partial labels, `pixels` says how many of a class's pixels are seen in an image ("1", or a share
    such as "5%") and `points` where they start. `class_counts` has, for each class, the number of
    labelled images that show it; it is empty where nobody counted.
    """

    labelled: tuple[str, ...]
    unlabelled: tuple[str, ...]
    dataset: str
    fingerprint: str
    builder: str
    settings: dict[str, object] = field(default_factory=dict)
    seed: int | None = None
    class_counts: dict[str, int] = field(default_factory=dict)
    pixels: str | None = None
    points: dict[str, tuple[Point, ...]] = field(default_factory=dict)

    def save(self, path: Path) -> None:
        write_whole(path, self.to_json())

    def to_json(self) -> str:
        """What a person wants to know first; keys and points after it, a line each."""
        content: _SplitContent = {
            "dataset": self.dataset,
            "fingerprint": self.fingerprint,
            "builder": self.builder,
            "settings": self.settings,
            "seed": self.seed,
            "pixels": self.pixels,
            "class_counts": self.class_counts,
            "labelled": list(self.labelled),
            "unlabelled": list(self.unlabelled),
            "points": {key: _points_text(points) for key, points in self.points.items()},
        }
        return json.dumps(content, indent=1) + "\n"

    @classmethod
    def load(cls, path: Path) -> LabelSplit:
        remedy = "bring the file back, or draw it again with recoseg split"
        content = read_record(path, _SplitContent, what="split file", remedy=remedy, rule=_require_sense)
        for name in ("labelled", "unlabelled"):
            content[name] = tuple(content[name])
        content["points"] = {key: points_of(text) for key, text in content.get("points", {}).items()}
        return cls(**content)

    def check_fits(self, dataset: Dataset) -> None:
        """An error that says what differs, unless the split was drawn from this very dataset."""
        difference = self._difference(dataset)
        if difference:
            raise UserError(
                f"the split does not fit this {dataset.name!r} dataset: {difference}; draw a new split, "
                "or bring the data back"
            )

    def _difference(self, dataset: Dataset) -> str | None:
        """What is other than when the split was drawn, in words."""
        if self.dataset != dataset.name:
            return f"it was drawn from dataset {self.dataset!r}, this is {dataset.name!r}"
        if self.class_counts and list(self.class_counts) != list(dataset.classes.names):
            return f"its classes are others: {_other_classes(list(self.class_counts), dataset.classes.names)}"
        present, named = set(dataset.keys("train")), {*self.labelled, *self.unlabelled}
        gone = [key for key in (*self.labelled, *self.unlabelled) if key not in present]
        if gone:
            return f"{len(gone)} of its keys are gone, e.g. {gone[0]!r}"
        bare = [key for key in self.labelled if not dataset.has_labels(key)]
        if bare:
            return f"{len(bare)} of its labelled images have no labels any more, e.g. {bare[0]!r}"
        if self.fingerprint == dataset.fingerprint():
            return None
        new = [key for key in dataset.keys("train") if key not in named]
        if new:
            return f"{len(new)} training images are not in it, e.g. {new[0]!r}"
        return "its training images are the same, but other images, classes or settings changed since"


def _other_classes(old: Sequence[str], new: Sequence[str]) -> str:
    for number, (before, now) in enumerate(zip(old, new, strict=False)):
        if before != now:
            return f"class {number} was {before!r} and is {now!r}"
    return f"there were {len(old)} and are {len(new)}"


def _points_text(points: Sequence[Point]) -> str:
    """(0, 12, 3), (4, 7, 90) -> "0:12,3 4:7,90": class, row, column."""
    return " ".join(f"{label}:{row},{column}" for label, row, column in points)


def points_of(text: str) -> tuple[Point, ...]:
    return tuple((int(label), int(row), int(column)) for label, row, column in _POINT.findall(text))


class VisibleLabels(Wrapper):
    """`source` with the labels that `split` allows: all pixels of an image, a few of them, or none."""

    def __init__(self, source: Dataset, split: LabelSplit) -> None:
        super().__init__(source)
        self.pixels = None if split.pixels is None else PixelBudget.parse(split.pixels)
        self.points = split.points
        self.visible = frozenset(split.labelled)

    def has_labels(self, key: str) -> bool:
        return key in self.visible

    def labels(self, key: str) -> Tensor:
        """The labels as far as they may be seen; the file of hidden ones is not even opened."""
        import torch

        if key not in self.visible:
            raise UserError(f"the labels of {key!r} are hidden by the split")
        labels = self.source.labels(key)
        if self.pixels is None:
            return labels
        points = self.points.get(key, ())
        self._require_same_labels(key, labels)
        return torch.from_numpy(self.pixels.visible(labels.numpy(), points))

    def _require_same_labels(self, key: str, labels: Tensor) -> None:
        """The points of the split must still lie on their classes."""
        height, width = labels.shape
        for label, row, column in self.points.get(key, ()):
            inside = 0 <= row < height and 0 <= column < width
            if not inside or int(labels[row, column]) != label:
                raise UserError(
                    f"{key}: the pixel of class {label} at row {row}, column {column} is not there any more; "
                    "the label changed since the split was drawn: draw it again"
                )
