"""Settings -> dataset, and what a run needs to find in it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import structs

from recoseg.config.data_settings import FolderData
from recoseg.data import DATASETS
from recoseg.data.bit_depth import measure_bit_depth
from recoseg.data.dataset import Dataset
from recoseg.data.file_dataset import FileDataset
from recoseg.data.worker_processes import Progress, in_processes_if_slow, num_readers
from recoseg.errors import UserError
from recoseg.text import lookup


def build_dataset(section: Any) -> Dataset:
    return lookup(DATASETS, section.name, what="dataset")(**structs.asdict(section))


def build_data_of_run(section: Any, run: Path) -> Dataset:
    """The dataset of a run folder's config, which may lie elsewhere by now."""
    root = getattr(section, "root", None)
    if root is not None and not Path(root).exists():
        option = "--data" if isinstance(section, FolderData) else "--data.root"
        raise UserError(
            f"the data folder {root} of {run} does not exist; if it has moved, recoseg train "
            f"--resume {run} {option} FOLDER records its new place"
        )
    return build_dataset(section)


def with_bit_depth(section: Any, dataset: Dataset, *, progress: Progress | None = None) -> Any:
    """The settings of a folder with the bit depth of its images, measured unless they give it."""
    if not isinstance(section, FolderData) or section.bit_depth is not None:
        return section
    assert isinstance(dataset, FileDataset)
    images = [entry.image for entry in dataset.entries.values()]
    measured = measure_bit_depth(images, num_workers=num_readers(), progress=progress)
    return structs.replace(section, bit_depth=measured)


def val_keys(dataset: Dataset) -> list[str]:
    """The validation images that can be scored."""
    keys = [key for key in dataset.keys("val") if dataset.has_labels(key)]
    if not keys:
        raise UserError(
            "the dataset has no labelled validation images: label at least two images, or name some "
            "in val.txt (docs/own_data.md)"
        )
    return keys


def require_readable(dataset: Dataset, keys: Sequence[str], *, progress: Progress | None = None) -> None:
    """Reads the images and labels of these keys once, if they are files.

    So a damaged one is named before training begins, rather than when it is first scored.
    """
    if isinstance(dataset, FileDataset):
        read = partial(_read, dataset)
        for _ in in_processes_if_slow(read, keys, num_workers=num_readers(), progress=progress):
            pass


def _read(dataset: Dataset, key: str) -> None:
    dataset.sample(key)


def require_training_labels(dataset: Dataset) -> None:
    """Data may be there to evaluate on alone."""
    keys = dataset.keys("train")
    if not any(dataset.has_labels(key) for key in keys):
        there = (
            f"none of its {len(keys)} training images has a label" if keys else "it has no training images"
        )
        raise UserError(
            f"{dataset.name}: {there}, so there is nothing to learn from; add labelled ones "
            "(docs/datasets.md, docs/own_data.md), or only evaluate on it"
        )


def require_two_classes(dataset: Dataset) -> None:
    if len(dataset.classes) < 2:
        only = dataset.classes.names[0]
        raise UserError(
            f"the dataset has one class only, {only!r}: there is nothing to tell apart; "
            "list a second one, such as the background"
        )
