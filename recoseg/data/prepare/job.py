"""Preparing a whole dataset, in worker processes, so that a restart goes on where the last one stopped."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from recoseg.data.base import SUBSETS
from recoseg.data.files import FileDataset
from recoseg.data.list_files import list_text
from recoseg.data.prepare.convert import SUFFIXES, Converter
from recoseg.data.prepare.resize import Resize
from recoseg.data.problem import Problem
from recoseg.data.worker_processes import Progress, in_processes
from recoseg.errors import UserError
from recoseg.files import real, remove_unfinished, write_whole
from recoseg.lookup import lookup
from recoseg.records import read_record
from recoseg.typed_values import Count
from recoseg.types import IGNORE

RECORD = "prepare.json"
UNFINISHED = "(not finished: run recoseg prepare again)\n"
FEW_IMAGES = 100  # starting worker processes takes longer than these


@dataclass(frozen=True)
class Prepared:
    """What was done: images in the result, how many of them were there before, and what was left out."""

    num_images: int
    num_kept: int
    problems: tuple[Problem, ...]


def prepare(
    dataset: FileDataset,
    *,
    source: Path,
    destination: Path,
    resize: Resize,
    format: str = "png",
    num_workers: int = 1,
    progress: Progress | None = None,
) -> Prepared:
    """Writes `dataset`, read from `source`, as a folder dataset. Lists are written last.

    An image whose files cannot be used is left out and reported; all others are done.
    """
    lookup(SUFFIXES, format, what="format")
    reject_overlap(source, destination)
    begin(destination, record_of(dataset, source, resize, format))
    converter = Converter(real(destination), dataset.code, resize, format)
    wanted = {key: dataset.entry(key) for subset in SUBSETS for key in dataset.keys(subset)}
    pending = {key: entry for key, entry in wanted.items() if not converter.is_done(key, entry)}
    if pending:
        write_whole(destination / "train.txt", UNFINISHED)
    problems: dict[str, Problem] = {}
    results = in_processes(converter, pending.items(), num_workers=num_workers, few=FEW_IMAGES)
    for done, (key, problem) in enumerate(zip(pending, results, strict=True), start=1):
        if problem:
            problems[key] = problem
        if progress:
            progress(len(wanted) - len(pending) + done, len(wanted))
    problems |= without_label(dataset)
    finish(dataset, destination, left_out=problems.keys())
    return Prepared(
        len(wanted.keys() - problems.keys()), len(wanted) - len(pending), tuple(problems.values())
    )


def reject_overlap(source: Path, destination: Path) -> None:
    if real(destination).is_relative_to(real(source)):
        raise UserError(
            f"{destination} lies in {source}, which is only read; give another folder to write to"
        )


class Record(TypedDict):
    """All that decides what the files will hold."""

    dataset: str
    source: str
    height: Count | None
    width: Count | None
    scale: float | None
    filter: str
    format: str
    classes: list[str]


def record_of(dataset: FileDataset, source: Path, resize: Resize, format: str) -> Record:
    height, width = resize.size or (None, None)
    return {
        "dataset": dataset.name,
        "source": str(real(source)),
        "height": height,
        "width": width,
        "scale": resize.scale,
        "filter": resize.filter,
        "format": format,
        "classes": list(dataset.classes.names),
    }


def begin(destination: Path, record: Record) -> None:
    """Makes the folder, or makes sure that what is there was begun in the same way."""
    if destination.exists() and not destination.is_dir():
        raise UserError(f"{destination} is a file; give a new or empty folder")
    path = destination / RECORD
    if not os.path.lexists(path):
        remove_unfinished(destination, name=RECORD)
        if destination.is_dir() and any(destination.iterdir()):
            raise UserError(
                f"{destination} holds files that recoseg prepare did not write; give a new or empty folder"
            )
        destination.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(record, indent=1) + "\n")
    remedy = "bring it back, or give a new folder"
    earlier = read_record(path, Record, what="record", remedy=remedy)
    for name, now in record.items():
        before = earlier[name]
        if before != now:
            raise UserError(
                f"{destination} was begun with {name} {before}, not {now}; give the same, or another folder"
            )
    remove_unfinished(destination)


def without_label(dataset: FileDataset) -> dict[str, Problem]:
    """Validation images that cannot be scored."""
    what, remedy = "a validation image without a label", "restore its label"
    return {
        key: Problem(str(dataset.entry(key).image), what, remedy)
        for key in dataset.keys("val")
        if not dataset.has_labels(key)
    }


def finish(dataset: FileDataset, destination: Path, *, left_out: Collection[str]) -> None:
    """Writes the class file and the lists, which make it a folder dataset."""
    classes = {
        "names": list(dataset.classes.names),
        "palette": [list(colour) for colour in dataset.classes.palette],
        "ignore_index": IGNORE,
        "format": "index",
    }
    write_whole(destination / "classes.json", json.dumps(classes, indent=1) + "\n")
    for subset in reversed(SUBSETS):  # train last: until then it says that this is not finished
        path = destination / f"{subset}.txt"
        text = list_text(key for key in dataset.keys(subset) if key not in left_out)
        if text:
            write_whole(path, text)
        else:
            path.unlink(missing_ok=True)
