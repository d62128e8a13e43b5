"""Checking a dataset by reading all its files: pixels and images by class, and everything that is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoseg.data.bit_depth import bit_depth_of, depth_in_words, narrow_colour_problem
from recoseg.data.dataset import SUBSETS
from recoseg.data.file_dataset import Entry, FileDataset, size_problem
from recoseg.data.folder.folder_dataset import FolderPlan, plan_folder
from recoseg.data.image_files import Brightness, read_brightness, read_label_pixels, read_rgb
from recoseg.data.label_codes import LabelCode
from recoseg.data.problem import FileError, Problem
from recoseg.data.worker_processes import Progress, in_processes
from recoseg.types import IGNORE, ClassInfo


@dataclass(frozen=True)
class _SubsetCount:
    """How many images a subset has, how many with usable labels, and what the labels hold."""

    num_images: int
    num_labelled: int
    pixels: NDArray[np.int64]  # (256,) by class, the void ones at IGNORE
    images: NDArray[np.int64]  # (256,) images in which the class occurs


@dataclass(frozen=True)
class CheckReport:
    """What a check found. `classes` is None if the class list could not be told."""

    classes: ClassInfo | None
    subsets: Mapping[str, _SubsetCount]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()
    suggestion: Mapping[str, Any] | None = None  # a class file, where there is none
    entries: Mapping[str, Entry] = field(default_factory=dict)
    code: LabelCode | None = None  # None if it could not be told
    bit_depth: int | None = None  # of the images of more than 8 bits, if there are any

    @property
    def pixel_share(self) -> NDArray[np.float64]:
        """(256,) share of each class among all label pixels, void at IGNORE; zeros if there are none."""
        pixels = np.sum([count.pixels for count in self.subsets.values()], axis=0)
        share: NDArray[np.float64] = pixels / max(pixels.sum(), 1)
        return share

    def worst_first(self, most: int) -> dict[str, list[Problem]]:
        """At most so many images, key -> what is wrong with it.

        Those with problems come first: one of each kind, the kind that most images have in front, then
        another of each kind, and so on. What room is left is for others, evenly spaced, if possible labelled.
        """
        key_of = {
            str(file): key for key, entry in self.entries.items() for file in (entry.image, entry.labels)
        }
        wrong: dict[str, list[Problem]] = {}
        for problem in self.problems:
            if problem.file in key_of:
                wrong.setdefault(key_of[problem.file], []).append(problem)
        kinds: dict[str, list[str]] = {}
        for key, problems in wrong.items():
            kinds.setdefault(problems[0].remedy, []).append(key)
        by_size = sorted(kinds.values(), key=len, reverse=True)
        taken = [key for turn in zip_longest(*by_size) for key in turn if key is not None]
        sound = [key for key in self.entries if key not in wrong]
        rest = [key for key in sound if self.entries[key].labels] or sound
        room = min(max(0, most - len(taken)), len(rest))
        spread = [rest[index * len(rest) // room] for index in range(room)]
        return {key: wrong.get(key, []) for key in [*taken, *spread][:most]}


def check_folder(root: Path, *, num_workers: int = 1, progress: Progress | None = None) -> CheckReport:
    """Checks a folder dataset, wrong or not, and writes nothing."""
    plan = plan_folder(root)
    return _check(
        classes=plan.scheme.classes if plan.scheme else None,
        entries=plan.listing.entries,
        subsets=plan.subsets.keys,
        code=plan.scheme.code if plan.scheme else None,
        known=plan.problems,
        notes=_folder_notes(plan),
        suggestion=plan.scheme.suggestion if plan.scheme else None,
        num_workers=num_workers,
        progress=progress,
    )


def check_dataset(
    dataset: FileDataset, *, num_workers: int = 1, progress: Progress | None = None
) -> CheckReport:
    """Checks the files of any dataset that reads files."""
    return _check(
        classes=dataset.classes,
        entries=dataset.entries,
        subsets={subset: dataset.keys(subset) for subset in SUBSETS},
        code=dataset.code,
        num_workers=num_workers,
        progress=progress,
    )


def _check(
    *,
    classes: ClassInfo | None,
    entries: Mapping[str, Entry],
    subsets: Mapping[str, Sequence[str]],
    code: LabelCode | None,
    known: Sequence[Problem] = (),
    notes: Sequence[str] = (),
    suggestion: Mapping[str, Any] | None = None,
    num_workers: int,
    progress: Progress | None,
) -> CheckReport:
    """Reads all `entries` and adds what is wrong with them to the problems `known` before."""
    problems = list(known)
    brightness: dict[Path, Brightness | None] = {}
    counts: dict[str, NDArray[np.int64]] = {}
    for done, result in enumerate(_check_files(entries, code, num_workers=num_workers), start=1):
        problems += result.problems
        if result.counts is not None:
            counts[result.key] = result.counts
        brightness[entries[result.key].image] = result.brightness
        if progress:
            progress(done, len(entries))
    by_subset = {subset: count_subset(keys, counts) for subset, keys in subsets.items()}
    if classes:
        problems += _absent_classes(classes, by_subset)
    if narrow := narrow_colour_problem(brightness):
        problems.append(narrow)
    bit_depth = bit_depth_of(brightness.values())
    if bit_depth is not None:
        notes = [*notes, f"Images: {depth_in_words(bit_depth)}."]
    problems = list(dict.fromkeys(problems))
    return CheckReport(
        classes, by_subset, tuple(problems), tuple(notes), suggestion, entries, code, bit_depth
    )


def count_subset(keys: Sequence[str], counts: Mapping[str, NDArray[np.int64]]) -> _SubsetCount:
    usable = [counts[key] for key in keys if key in counts]
    table = np.stack(usable) if usable else np.zeros((0, 256), dtype=np.int64)
    return _SubsetCount(len(keys), len(usable), table.sum(0), (table > 0).sum(0))


def _absent_classes(classes: ClassInfo, subsets: Mapping[str, _SubsetCount]) -> list[Problem]:
    """Classes that do not occur in the labels of the training or the validation images, whichever has any."""
    problems = []
    shown = [subset for subset in ("train", "val") if subsets[subset].num_labelled]
    for index, name in enumerate(classes.names):
        missing = [subset for subset in shown if not subsets[subset].pixels[index]]
        if missing:
            what = f"never occurs in the labels of {' or '.join(missing)}"
            remedy = "label images that show it, move some between the lists, or drop the class"
            problems.append(Problem(f"class {index} ({name})", what, remedy, fatal=False))
    return problems


def _folder_notes(plan: FolderPlan) -> list[str]:
    """What is not wrong, but good to know."""
    notes = []
    if plan.scheme:
        notes.append(f"Labels: {plan.scheme.rule}.")
    listed = {key for keys in plan.subsets.keys.values() for key in keys}
    num_unused = len(plan.listing.entries.keys() - listed)
    if num_unused:
        notes.append(f"{num_unused} images are in no list and will not be used.")
    if plan.subsets.drawn and plan.subsets.keys["val"]:
        notes.append("No val.txt: validation images are drawn by seed, and the first run writes them down.")
    return notes


# The files of one key

FEW_FILES = 300  # starting worker processes takes longer than reading these


@dataclass(frozen=True)
class _FileResult:
    """What the files of one key hold. `counts` is (256,) pixels by class, None without usable labels."""

    key: str
    problems: tuple[Problem, ...]
    counts: NDArray[np.int64] | None
    brightness: Brightness | None


@dataclass(frozen=True)
class _FileChecker:
    """Reads the files of one key at a time; without a `code` the classes of pixels are not looked at."""

    code: LabelCode | None

    def __call__(self, item: tuple[str, Entry]) -> _FileResult:
        key, entry = item
        problems: list[Problem] = []
        image_size, brightness = self.image_size(entry, problems)
        counts, label_size = self.counts_and_size(entry, problems)
        if image_size and label_size:
            mismatch = size_problem(entry, image_size, label_size)
            problems += [mismatch] if mismatch else []
        if counts is not None and counts.sum() == counts[IGNORE]:
            what = "no pixel has a class: all are void"
            problems.append(Problem(str(entry.labels), what, "label some of it, or remove the label file"))
        return _FileResult(key, tuple(problems), counts, brightness)

    def image_size(
        self, entry: Entry, problems: list[Problem]
    ) -> tuple[tuple[int, ...] | None, Brightness | None]:
        """(H, W), or None after adding a problem; and how bright an image of more than 8 bits is."""
        try:
            return read_rgb(entry.image).shape[:2], read_brightness(entry.image)
        except FileError as error:
            problems.append(error.problem)
            return None, None

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


def _check_files(
    entries: Mapping[str, Entry], code: LabelCode | None, *, num_workers: int
) -> Iterator[_FileResult]:
    """The result of every key, in order; `num_workers` up to 1 reads in this process."""
    return in_processes(_FileChecker(code), entries.items(), num_workers=num_workers, few=FEW_FILES)
