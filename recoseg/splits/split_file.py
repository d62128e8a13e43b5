"""Which labels a run may see, as a file that people can read: a run never re-draws it silently."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recoseg.data.base import Dataset
from recoseg.errors import UserError
from recoseg.files import write_whole

Point = tuple[int, int, int]  # class, row, column
REQUIRED = ("dataset", "fingerprint", "builder", "labelled", "unlabelled")


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
        content: dict[str, Any] = {
            "dataset": self.dataset,
            "fingerprint": self.fingerprint,
            "builder": self.builder,
            "settings": self.settings,
            "seed": self.seed,
            "pixels": self.pixels,
            "class_counts": self.class_counts,
            "labelled": self.labelled,
            "unlabelled": self.unlabelled,
            "points": {key: points_text(points) for key, points in self.points.items()},
        }
        return json.dumps(content, indent=1) + "\n"

    @classmethod
    def load(cls, path: Path) -> LabelSplit:
        try:
            return cls.from_json(path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise UserError(f"no split file at {path}") from error
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UserError(f"{path}: not a split file ({error})") from error

    @classmethod
    def from_json(cls, text: str) -> LabelSplit:
        content = json.loads(text)
        missing = [name for name in REQUIRED if name not in content]
        if missing:
            raise ValueError(f"it has no {missing[0]!r}")
        for name in ("labelled", "unlabelled"):
            content[name] = words(content[name], name)
        points = content.pop("points", {})
        split = cls(**content, points={key: points_of(text) for key, text in points.items()})
        if (split.pixels is None) != (not split.points):
            raise ValueError("'pixels' and 'points' go together")
        if len({*split.labelled, *split.unlabelled}) < len(split.labelled) + len(split.unlabelled):
            raise ValueError("a key is named twice")
        return split

    def check_fits(self, dataset: Dataset) -> None:
        """An error that says what differs, unless the split was drawn from this very dataset."""
        difference = self.difference(dataset)
        if difference:
            raise UserError(
                f"the split does not fit this {dataset.name!r} dataset: {difference}; draw a new split, "
                "or bring the data back"
            )

    def difference(self, dataset: Dataset) -> str | None:
        """What is other than when the split was drawn, in words."""
        if self.dataset != dataset.name:
            return f"it was drawn from dataset {self.dataset!r}, this is {dataset.name!r}"
        if self.class_counts and list(self.class_counts) != list(dataset.classes.names):
            return f"its classes are others: {other_classes(list(self.class_counts), dataset.classes.names)}"
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


def words(values: object, name: str) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"{name!r} must be a list of keys")
    return tuple(values)


def other_classes(old: Sequence[str], new: Sequence[str]) -> str:
    for number, (before, now) in enumerate(zip(old, new, strict=False)):
        if before != now:
            return f"class {number} was {before!r} and is {now!r}"
    return f"there were {len(old)} and are {len(new)}"


def points_text(points: Sequence[Point]) -> str:
    """(0, 12, 3), (4, 7, 90) -> "0:12,3 4:7,90": class, row, column."""
    return " ".join(f"{label}:{row},{column}" for label, row, column in points)


def points_of(text: str) -> tuple[Point, ...]:
    points = []
    for word in text.split():
        label, _, place = word.partition(":")
        row, _, column = place.partition(",")
        points.append((int(label), int(row), int(column)))
    return tuple(points)


def counts_by_name(names: Sequence[str], counts: Sequence[int]) -> dict[str, int]:
    return {name: int(count) for name, count in zip(names, counts, strict=True)}
