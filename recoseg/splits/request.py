"""What a user may ask of a split, and its way to the builder that draws it."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from pathlib import Path

from recoseg.data.base import Dataset
from recoseg.errors import UserError
from recoseg.lookup import lookup
from recoseg.seeds import permutation
from recoseg.splits.class_index import ClassCounter
from recoseg.splits.few_images import all_labels, few_images, labelled_keys, random_images
from recoseg.splits.few_pixels import few_pixels
from recoseg.splits.lists import listed_images
from recoseg.splits.partitions import PARTITIONS, Partition
from recoseg.splits.pixel_budget import PixelBudget, exact_number
from recoseg.splits.split_file import LabelSplit
from recoseg.words import shortened

ALONE = {
    "partition": {"labelled_list", "unlabelled_list", "unlabelled", "pixels", "seed"},
    "labelled_list": {"partition", "unlabelled_list", "unlabelled", "pixels", "seed"},
    "fraction": {"images_per_class", "random", "min_classes", "unlabelled", "pixels", "seed"},
    "random": {"labels", "fraction", "unlabelled", "pixels", "seed"},
}
"""setting -> what may be given beside it; for the others, all that these do not exclude."""

NEEDS = {
    "random": ("labels", "fraction"),
    "min_classes": ("labels", "fraction", "images_per_class"),
    "unlabelled_list": ("labelled_list",),
}
"""setting -> those of which one must be given too."""


@dataclass(frozen=True, kw_only=True)
class SplitRequest:
    """Which labels to keep; what each setting means is beside it in `config/split_settings.py`."""

    labels: int | None = None
    images_per_class: int | None = None
    fraction: str | None = None
    min_classes: int | None = None
    random: bool = False
    partition: str | None = None
    labelled_list: str | None = None
    unlabelled_list: str | None = None
    unlabelled: str | None = None
    pixels: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        given = self.given()
        for name in given:
            for other in given:
                if name in ALONE and other != name and other not in ALONE[name]:
                    raise UserError(f"{other} has no effect beside {name}: give one of them")
            if name in NEEDS and not any(needed in given for needed in NEEDS[name]):
                raise UserError(f"{name} has no effect without {' or '.join(NEEDS[name])}")
        if "seed" in given and not self.draws():
            raise UserError("seed has no effect where nothing is drawn: leave it out")

    def given(self) -> list[str]:
        """The settings that are not at their defaults."""
        return [f.name for f in fields(self) if getattr(self, f.name) != f.default]

    def draws(self) -> bool:
        drawn_images = self.labels or self.images_per_class or self.fraction or self.partition
        return bool(self.pixels or self.unlabelled or (drawn_images and not self.labelled_list))

    def draw(self, dataset: Dataset, counter: ClassCounter) -> LabelSplit:
        """The split that was asked for; all labels if nothing was."""
        pixels = PixelBudget.parse(self.pixels) if self.pixels else None
        split = self.draw_images(dataset, counter)
        if self.unlabelled is not None:
            split = some_unlabelled(split, self.unlabelled, seed=self.seed)
        if pixels is None:
            return split
        return few_pixels(
            dataset,
            split,
            pixels=pixels,
            seed=self.seed,
            num_workers=counter.num_workers,
            progress=counter.progress,
        )

    def draw_images(self, dataset: Dataset, counter: ClassCounter) -> LabelSplit:
        if self.partition is not None:
            split = self.draw_partition(self.partition, dataset, counter)
            return replace(split, settings={"partition": self.partition, **split.settings})
        if self.labelled_list is not None:
            return self.from_lists(dataset, counter)
        labels = self.labels if self.fraction is None else fraction_of(dataset, self.fraction)
        if labels is None and self.images_per_class is None:
            return all_labels(dataset)
        if self.random and labels is not None:
            return random_images(dataset, labels=labels, seed=self.seed, counter=counter)
        return few_images(
            dataset,
            labels=labels,
            images_per_class=self.images_per_class,
            min_classes=self.min_classes,
            seed=self.seed,
            counter=counter,
        )

    def draw_partition(self, name: str, dataset: Dataset, counter: ClassCounter) -> LabelSplit:
        partition: Partition = lookup(PARTITIONS, name, what="partition")
        partition.require_fits(name, dataset)
        if partition.draw == "list":
            return self.from_partition_list(name, partition, dataset, counter)
        if self.labelled_list is not None:
            raise UserError(f"labelled_list has no effect beside partition {name}, which is drawn by seed")
        if partition.draw == "random":
            return random_images(dataset, labels=partition.labels, seed=self.seed, counter=counter)
        return few_images(
            dataset,
            labels=partition.labels,
            images_per_class=partition.images_per_class,
            min_classes=partition.min_classes,
            seed=self.seed,
            counter=counter,
        )

    def from_partition_list(
        self, name: str, partition: Partition, dataset: Dataset, counter: ClassCounter
    ) -> LabelSplit:
        if self.labelled_list is None:
            raise UserError(f"partition {name!r} is a list that others published: give it as labelled_list")
        split = self.from_lists(dataset, counter)
        if len(split.labelled) != partition.labels:
            raise UserError(
                f"partition {name!r} has {partition.labels} labelled images, {self.labelled_list} names "
                f"{len(split.labelled)}"
            )
        return split

    def from_lists(self, dataset: Dataset, counter: ClassCounter) -> LabelSplit:
        return listed_images(
            dataset,
            labelled_list=Path(self.labelled_list or ""),
            unlabelled_list=Path(self.unlabelled_list) if self.unlabelled_list else None,
            counter=counter,
        )


def fraction_of(dataset: Dataset, text: str) -> int:
    """How many labelled images a share of all of them is, rounded."""
    return rounded_share(len(labelled_keys(dataset)), text, name="fraction")


def some_unlabelled(split: LabelSplit, text: str, *, seed: int) -> LabelSplit:
    """The split with a share of its unlabelled images; with the same seed, a smaller share is part of it."""
    keys = sorted(split.unlabelled)
    count = rounded_share(len(keys), text, name="unlabelled")
    if not keys:
        raise UserError("unlabelled has no effect: every training image is labelled")
    kept = {keys[index] for index in permutation(len(keys), seed, "some_unlabelled")[:count]}
    return replace(
        split,
        unlabelled=tuple(key for key in split.unlabelled if key in kept),
        settings={**split.settings, "unlabelled": text},
        seed=seed,
    )


def rounded_share(count: int, text: str, *, name: str) -> int:
    """A share such as "1/8", "0.125" or "12.5%" of so many images, at least one of them."""
    number, percent, rest = text.partition("%")
    try:
        share = exact_number(number) / (100 if percent else 1)
    except (ValueError, ZeroDivisionError):
        share = Fraction(0)
    if rest.strip() or not 0 < share <= 1:
        raise UserError(
            f"{name}: expected a share of the images such as 1/8, up to 1, got {shortened(repr(text))}"
        )
    return max(1, math.floor(share * count + Fraction(1, 2)))
