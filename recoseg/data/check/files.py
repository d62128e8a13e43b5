"""Reading every file of a dataset, in worker processes when there are many, and saying what is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recoseg.data.files import Entry, size_problem
from recoseg.data.image_files import read_label_pixels, read_rgb
from recoseg.data.label_codes import LabelCode
from recoseg.data.problem import FileError, Problem
from recoseg.data.worker_processes import in_processes
from recoseg.types import IGNORE

FEW_FILES = 300  # starting worker processes takes longer than reading these


@dataclass(frozen=True)
class FileResult:
    """What the files of one key hold. `counts` is (256,) pixels by class, None without usable labels."""

    key: str
    problems: tuple[Problem, ...]
    counts: NDArray[np.int64] | None


@dataclass(frozen=True)
class FileChecker:
    """Reads the files of one key at a time; without a `code` the classes of pixels are not looked at."""

    code: LabelCode | None

    def __call__(self, item: tuple[str, Entry]) -> FileResult:
        key, entry = item
        problems: list[Problem] = []
        image_size = self.image_size(entry, problems)
        counts, label_size = self.counts_and_size(entry, problems)
        if image_size and label_size:
            mismatch = size_problem(entry, image_size, label_size)
            problems += [mismatch] if mismatch else []
        if counts is not None and counts.sum() == counts[IGNORE]:
            what = "no pixel has a class: all are void"
            problems.append(Problem(str(entry.labels), what, "label some of it, or remove the label file"))
        return FileResult(key, tuple(problems), counts)

    def image_size(self, entry: Entry, problems: list[Problem]) -> tuple[int, ...] | None:
        """(H, W), or None after adding a problem."""
        try:
            return read_rgb(entry.image).shape[:2]
        except FileError as error:
            problems.append(error.problem)
            return None

    def counts_and_size(
        self, entry: Entry, problems: list[Problem]
    ) -> tuple[NDArray[np.int64] | None, tuple[int, ...] | None]:
        """(256,) pixels by class, and (H, W); each None if it cannot be told, after adding a problem."""
        if entry.labels is None:
            return None, None
        if self.code:
            try:
                labels = self.code.decode(entry.labels)
                return np.bincount(labels.ravel(), minlength=256), labels.shape
            except FileError as error:
                problems.append(error.problem)
        try:  # its size can be told even if its classes cannot
            return None, read_label_pixels(entry.labels).shape[:2]
        except FileError as error:
            problems += [error.problem] if error.problem not in problems else []
            return None, None


def check_files(
    entries: Mapping[str, Entry], code: LabelCode | None, *, num_workers: int
) -> Iterator[FileResult]:
    """The result of every key, in order; `num_workers` up to 1 reads in this process."""
    return in_processes(FileChecker(code), entries.items(), num_workers=num_workers, few=FEW_FILES)
