"""Partial dataset, full labels: a few training images keep their labels, the others lose them."""

from __future__ import annotations

from recoseg.data.base import Dataset
from recoseg.errors import UserError
from recoseg.seeds import permutation
from recoseg.splits.split_file import LabelSplit


def all_labels(dataset: Dataset) -> LabelSplit:
    """Every label that there is."""
    keys = dataset.keys("train")
    return LabelSplit(
        labelled=tuple(key for key in keys if dataset.has_labels(key)),
        unlabelled=tuple(key for key in keys if not dataset.has_labels(key)),
        dataset=dataset.name,
        fingerprint=dataset.fingerprint(),
        builder="all_labels",
    )


def random_images(dataset: Dataset, *, labels: int, seed: int) -> LabelSplit:
    """`labels` training images drawn without regard to what is in them."""
    whole = all_labels(dataset)
    if labels > len(whole.labelled):
        raise UserError(
            f"split.labels asks for {labels} labelled images, the dataset has {len(whole.labelled)}"
        )
    order = permutation(len(whole.labelled), seed, "random_images")
    chosen = {whole.labelled[index] for index in order[:labels]}
    return LabelSplit(
        labelled=tuple(key for key in whole.labelled if key in chosen),
        unlabelled=tuple(key for key in dataset.keys("train") if key not in chosen),
        dataset=whole.dataset,
        fingerprint=whole.fingerprint,
        builder="random_images",
        settings={"labels": labels, "seed": seed},
    )
