"""Partial dataset, full labels: a few training images keep their labels, the others lose them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from recoseg.data.dataset import Dataset
from recoseg.errors import UserError
from recoseg.seeds import permutation
from recoseg.splits.class_index import ClassCounter, ClassIndex
from recoseg.splits.label_split import LabelSplit
from recoseg.splits.labelled_pixels import exact_number
from recoseg.text import shortened


def all_labels(dataset: Dataset) -> LabelSplit:
    """Every label that there is; nothing is read or counted."""
    return split_of(dataset, _labelled_keys(dataset), builder="all_labels")


def few_images(
    dataset: Dataset,
    *,
    labels: int | None = None,
    images_per_class: int | None = None,
    min_classes: int | None = None,
    seed: int,
    counter: ClassCounter | None = None,
) -> LabelSplit:
    """The paper's draw: images with many classes, one by one for the classes that were drawn least so far.

    There are `labels` of them, or as many as give every class `images_per_class` images, or both.
    """
    keys = sorted(_labelled_keys(dataset))  # a listing's order must not decide what a seed draws
    _require_labels(keys, labels or 1)
    enough = dataset.min_classes if min_classes is None else min_classes
    index = (counter or ClassCounter())(dataset, keys)
    rows = sample_images(
        index.presence,
        dataset.classes.names,
        labels=labels,
        images_per_class=images_per_class,
        min_classes=enough,
        seed=seed,
    )
    asked = {"labels": labels, "images_per_class": images_per_class, "min_classes": enough}
    return split_of(
        dataset,
        [keys[row] for row in rows],
        builder="few_images",
        settings={name: value for name, value in asked.items() if value is not None},
        seed=seed,
        index=index,
    )


def random_images(
    dataset: Dataset, *, labels: int, seed: int, counter: ClassCounter | None = None
) -> LabelSplit:
    """`labels` training images drawn without regard to what is in them."""
    keys = sorted(_labelled_keys(dataset))
    _require_labels(keys, labels)
    chosen = [keys[index] for index in permutation(len(keys), seed, "random_images")[:labels]]
    index = (counter or ClassCounter())(dataset, chosen)
    return split_of(
        dataset, chosen, builder="random_images", settings={"labels": labels}, seed=seed, index=index
    )


def num_of_share(dataset: Dataset, share: str) -> int:
    """How many images a share such as "1/8" of all labelled ones is, rounded."""
    return _rounded_share(len(_labelled_keys(dataset)), share, name="fraction")


def some_unlabelled(split: LabelSplit, share: str, *, seed: int) -> LabelSplit:
    """The split with a share of its unlabelled images; with the same seed, a smaller share is part of it."""
    keys = sorted(split.unlabelled)
    count = _rounded_share(len(keys), share, name="unlabelled")
    if not keys:
        raise UserError("unlabelled has no effect: every training image is labelled")
    kept = {keys[index] for index in permutation(len(keys), seed, "some_unlabelled")[:count]}
    return replace(
        split,
        unlabelled=tuple(key for key in split.unlabelled if key in kept),
        settings={**split.settings, "unlabelled": share},
        seed=seed,
    )


def _rounded_share(count: int, text: str, *, name: str) -> int:
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


def split_of(
    dataset: Dataset,
    labelled: Collection[str],
    *,
    unlabelled: Collection[str] | None = None,
    builder: str,
    settings: Mapping[str, object] | None = None,
    seed: int | None = None,
    index: ClassIndex | None = None,
) -> LabelSplit:
    """The split in which these keys are labelled and those, or all others, are not."""
    train = dataset.keys("train")
    visible = set(labelled)
    hidden = set(train) - visible if unlabelled is None else set(unlabelled)
    counts = index.of(visible).presence.sum(0).tolist() if index else None
    return LabelSplit(
        labelled=tuple(key for key in train if key in visible),
        unlabelled=tuple(key for key in train if key in hidden),
        dataset=dataset.name,
        fingerprint=dataset.fingerprint(),
        builder=builder,
        settings=dict(settings or {}),
        seed=seed,
        class_counts=dict(zip(dataset.classes.names, counts, strict=True)) if counts else {},
    )


def _labelled_keys(dataset: Dataset) -> list[str]:
    """The training images that have labels."""
    return [key for key in dataset.keys("train") if dataset.has_labels(key)]


def _require_labels(keys: Sequence[str], labels: int) -> None:
    if labels < 1:
        raise UserError(f"the split asks for {labels} labelled images; it needs at least 1")
    if labels > len(keys):
        raise UserError(f"the split asks for {labels} labelled images, the dataset has {len(keys)}")


# The paper's choice: many classes in each image, and the rare classes as often as the others.
# It works on which image holds which class, and knows nothing of datasets.

_Presence = NDArray[np.bool_]  # (N, K) whether image n holds class k

_NUM_DRAWS = 200
"""Orders that are tried when both the number of images and the images per class are asked for."""


def sample_images(
    presence: _Presence,
    names: Sequence[str],
    *,
    labels: int | None,
    images_per_class: int | None,
    min_classes: int,
    seed: int,
) -> list[int]:
    """The rows to label: `labels` of them, or as many as give every class `images_per_class` images, or both.

    Each has at least `min_classes` classes and, when it was taken, one of the classes taken least so far.
    """
    rows = np.flatnonzero(presence.sum(1) >= max(min_classes, 1))
    _require_enough_images(presence, labels=labels, min_classes=min_classes)
    if images_per_class is not None:
        _require_enough_of_each_class(presence[rows], names, images_per_class, min_classes)
    best: list[int] = []
    for draw in range(_NUM_DRAWS):
        order = rows[permutation(len(rows), seed, "few_images", draw)].tolist()
        chosen = _take(presence, order, labels=labels, images_per_class=images_per_class)
        if labels is None or images_per_class is None or _rarest(presence, chosen) >= images_per_class:
            return chosen
        best = max(best or chosen, chosen, key=lambda some: _rarest(presence, some))
    raise UserError(_too_few_of_a_class(presence, names, best, images_per_class))


def _take(
    presence: _Presence, order: Sequence[int], *, labels: int | None, images_per_class: int | None
) -> list[int]:
    """Rows in the order in which they are taken, until there are enough."""
    chosen: list[int] = []
    taken = np.zeros(presence.shape[1], dtype=np.int64)
    for row in take_in_turn(presence, order):
        chosen.append(row)
        taken += presence[row]
        if len(chosen) == labels or (labels is None and taken.min() >= (images_per_class or 0)):
            break
    return chosen


def take_in_turn(presence: _Presence, order: Sequence[int]) -> Iterator[int]:
    """All rows of `order`, each when it holds one of the classes taken least so far.

    What does not is kept for the next pass. A class that no waiting row holds any more is out of the
    count: the paper's rule would wait for it forever.
    """
    held = {row: _bits(presence[row]) for row in order}
    taken, waiting_with = np.zeros(presence.shape[1], dtype=np.int64), presence[order].sum(0)
    least = _least_taken(taken, waiting_with)
    waiting = list(order)
    while waiting:
        passed_over = []
        for row in waiting:
            if not held[row] & least:
                passed_over.append(row)
                continue
            yield row
            taken += presence[row]
            waiting_with -= presence[row]
            least = _least_taken(taken, waiting_with)
        waiting = passed_over


def _least_taken(taken: NDArray[np.int64], waiting_with: NDArray[np.int64]) -> int:
    """The classes taken least, of those that can still be had, as the bits of a number."""
    obtainable = waiting_with > 0
    if not obtainable.any():
        return 0
    return _bits(obtainable & (taken == taken[obtainable].min()))


def _bits(flags: NDArray[np.bool_]) -> int:
    return int.from_bytes(np.packbits(flags).tobytes(), "big")


def _rarest(presence: _Presence, rows: Sequence[int]) -> int:
    """How many of the rows hold the class that the fewest hold."""
    return int(presence[list(rows)].sum(0).min()) if rows else 0


def _require_enough_images(presence: _Presence, *, labels: int | None, min_classes: int) -> None:
    """An error with the most that could be had, if fewer than `labels` images have enough classes."""
    num_classes = np.sort(presence.sum(1))[::-1]
    available = int((num_classes >= max(min_classes, 1)).sum())
    if available >= (labels or 1):
        return
    wanted = "any" if labels is None else f"{labels}"
    classes = "1 class" if min_classes <= 1 else f"{min_classes} classes"
    lower = int(num_classes[(labels or 1) - 1]) if len(num_classes) >= (labels or 1) else 0
    remedy = f"; with min_classes {lower} there are enough" if 0 < lower < min_classes else ""
    raise UserError(
        f"{wanted} images with at least {classes} were asked for, but only {available} of "
        f"{len(presence)} labelled images have as many{remedy}"
    )


def _require_enough_of_each_class(
    presence: _Presence, names: Sequence[str], images_per_class: int, min_classes: int
) -> None:
    """An error that names the classes that occur in fewer of these images."""
    available = presence.sum(0)
    scarce = [f"{names[k]} in {available[k]}" for k in np.argsort(available, kind="stable")]
    scarce = scarce[: int((available < images_per_class).sum())]
    if not scarce:
        return
    among = f" with at least {min_classes} classes" if min_classes > 1 else ""
    raise UserError(
        f"{images_per_class} images a class were asked for, but of the {len(presence)} labelled "
        f"images{among} too few hold some classes ({', '.join(scarce)}); "
        f"the most is {available.min()} images a class"
    )


def _too_few_of_a_class(
    presence: _Presence, names: Sequence[str], best: Sequence[int], images_per_class: int | None
) -> str:
    counts = presence[list(best)].sum(0)
    scarce = names[int(counts.argmin())]
    return (
        f"in {_NUM_DRAWS} draws no {len(best)} images hold every class {images_per_class} times; the best "
        f"hold {scarce} {counts.min()} times; ask for more labels or fewer images per class"
    )
