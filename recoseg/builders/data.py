"""Config -> dataset."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from recoseg.builders import keywords
from recoseg.config.data_settings import FolderData
from recoseg.data import DATASETS
from recoseg.data.bit_depth import measure_bit_depth
from recoseg.data.dataset import Dataset
from recoseg.data.file_dataset import FileDataset
from recoseg.data.worker_processes import Progress, in_processes_if_slow
from recoseg.errors import UserError
from recoseg.splits.class_index import ClassCounter
from recoseg.text import lookup


def build_dataset(section: Any) -> Dataset:
    return lookup(DATASETS, section.name, what="dataset")(**keywords(section))


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


def class_counter(*, num_workers: int | None = None, progress: Progress | None = None) -> ClassCounter:
    """Counts classes in several processes, and remembers them in the user's cache folder."""
    num_workers = num_workers or _readers()
    return ClassCounter(num_workers=num_workers, progress=progress, cache=cache_folder())


def _readers() -> int:
    """Processes that read files side by side."""
    return min(os.cpu_count() or 1, 8)


def cache_folder() -> Path:
    """Where we remember what can be found out again, for this user; it need not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "recoseg"


def with_bit_depth(section: Any, dataset: Dataset, *, progress: Progress | None = None) -> Any:
    """The settings of a folder with the bit depth of its images, measured unless they give it."""
    if not isinstance(section, FolderData) or section.bit_depth is not None:
        return section
    assert isinstance(dataset, FileDataset)
    images = [entry.image for entry in dataset.entries.values()]
    measured = measure_bit_depth(images, num_workers=_readers(), progress=progress)
    return replace(section, bit_depth=measured)


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
        for _ in in_processes_if_slow(read, keys, num_workers=_readers(), progress=progress):
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
