"""Partial dataset, full labels: a few training images keep their labels, the others lose them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from recoseg.data.base import Dataset
from recoseg.errors import UserError
from recoseg.seeds import permutation
from recoseg.splits.class_index import ClassCounter, ClassIndex
from recoseg.splits.sampler import sample_images
from recoseg.splits.split_file import LabelSplit, counts_by_name

MIN_CLASSES = {"cityscapes": 12, "pascal_voc": 3, "sun_rgbd": 1}
"""Classes that an image must have to be chosen, by dataset; 1 for all others."""


def all_labels(dataset: Dataset) -> LabelSplit:
    """Every label that there is; nothing is read or counted."""
    return split_of(dataset, labelled_keys(dataset), builder="all_labels")


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
    keys = sorted(labelled_keys(dataset))  # a listing's order must not decide what a seed draws
    require_labels(keys, labels or 1)
    enough = MIN_CLASSES.get(dataset.name, 1) if min_classes is None else min_classes
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
    keys = sorted(labelled_keys(dataset))
    require_labels(keys, labels)
    chosen = [keys[index] for index in permutation(len(keys), seed, "random_images")[:labels]]
    index = (counter or ClassCounter())(dataset, chosen)
    return split_of(
        dataset, chosen, builder="random_images", settings={"labels": labels}, seed=seed, index=index
    )


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
        class_counts=counts_by_name(dataset.classes.names, counts) if counts else {},
    )


def labelled_keys(dataset: Dataset) -> list[str]:
    """The training images that have labels."""
    return [key for key in dataset.keys("train") if dataset.has_labels(key)]


def require_labels(keys: Sequence[str], labels: int) -> None:
    if labels < 1:
        raise UserError(f"the split asks for {labels} labelled images; it needs at least 1")
    if labels > len(keys):
        raise UserError(f"the split asks for {labels} labelled images, the dataset has {len(keys)}")
