"""Preparing a dataset: all of it at another size, written as an ordinary folder dataset.

A restart goes on where the last one stopped.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from recoseg.data.bit_depth import measure_bit_depth
from recoseg.data.dataset import SUBSETS
from recoseg.data.file_dataset import Entry, FileDataset, size_problem
from recoseg.data.image_files import FULL_DEPTH, read_rgb
from recoseg.data.label_codes import LabelCode
from recoseg.data.list_files import list_text
from recoseg.data.problem import FileError, Problem
from recoseg.data.resize import Resize
from recoseg.data.worker_processes import Progress, in_processes
from recoseg.errors import UserError
from recoseg.files import real, remove_unfinished, whole_file, write_whole
from recoseg.records import Count, write_or_compare
from recoseg.text import lookup
from recoseg.types import IGNORE

_RECORD = "prepare.json"
_UNFINISHED = "(not finished: run recoseg prepare again)\n"
FEW_IMAGES = 100  # starting worker processes takes longer than these


@dataclass(frozen=True)
class Prepared:
    """What was done: images in the result, how many of them were there before, and what was left out.

    `bit_depth` is None if no image has more than 8 bits.
    """

    num_images: int
    num_kept: int
    problems: tuple[Problem, ...]
    bit_depth: int | None = None


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
    lookup(_SUFFIXES, format, what="format")
    _reject_overlap(source, destination)
    wanted = {key: dataset.entry(key) for subset in SUBSETS for key in dataset.keys(subset)}
    bit_depth = measure_bit_depth([entry.image for entry in wanted.values()], num_workers=num_workers)
    if bit_depth is not None and dataset.bit_depth != FULL_DEPTH:
        bit_depth = dataset.bit_depth
    _begin(destination, _record_of(dataset, source, resize, format, bit_depth))
    converter = Converter(real(destination), dataset.code, resize, format, bit_depth)
    pending = {key: entry for key, entry in wanted.items() if not converter.is_done(key, entry)}
    if pending:
        write_whole(destination / "train.txt", _UNFINISHED)
    problems: dict[str, Problem] = {}
    results = in_processes(converter, pending.items(), num_workers=num_workers, few=FEW_IMAGES)
    for done, (key, problem) in enumerate(zip(pending, results, strict=True), start=1):
        if problem:
            problems[key] = problem
        if progress:
            progress(len(wanted) - len(pending) + done, len(wanted))
    problems |= _without_label(dataset)
    _finish(dataset, destination, left_out=problems.keys())
    return Prepared(
        len(wanted.keys() - problems.keys()), len(wanted) - len(pending), tuple(problems.values()), bit_depth
    )


def _reject_overlap(source: Path, destination: Path) -> None:
    if real(destination).is_relative_to(real(source)):
        raise UserError(
            f"{destination} lies in {source}, which is only read; give another folder to write to"
        )


class _Record(TypedDict):
    """All that decides what the files will hold."""

    dataset: str
    source: str
    height: Count | None
    width: Count | None
    scale: float | None
    filter: str
    format: str
    classes: list[str]
    bit_depth: NotRequired[Count]  # if an image has more than 8 bits


def _record_of(
    dataset: FileDataset, source: Path, resize: Resize, format: str, bit_depth: int | None
) -> _Record:
    height, width = resize.size or (None, None)
    record: _Record = {
        "dataset": dataset.name,
        "source": str(real(source)),
        "height": height,
        "width": width,
        "scale": resize.scale,
        "filter": resize.filter,
        "format": format,
        "classes": list(dataset.classes.names),
    }
    if bit_depth is not None:
        record["bit_depth"] = bit_depth
    return record


def _begin(destination: Path, record: _Record) -> None:
    """Makes the folder, or makes sure that what is there was begun in the same way."""
    if destination.exists() and not destination.is_dir():
        raise UserError(f"{destination} is a file; give a new or empty folder")
    path = destination / _RECORD
    if not os.path.lexists(path):
        remove_unfinished(destination, name=_RECORD)
        if destination.is_dir() and any(destination.iterdir()):
            raise UserError(
                f"{destination} holds files that recoseg prepare did not write; give a new or empty folder"
            )
    write_or_compare(path, record, _Record)
    remove_unfinished(destination)


def _without_label(dataset: FileDataset) -> dict[str, Problem]:
    """Validation images that cannot be scored."""
    what, remedy = "a validation image without a label", "restore its label"
    return {
        key: Problem(str(dataset.entry(key).image), what, remedy)
        for key in dataset.keys("val")
        if not dataset.has_labels(key)
    }


def _finish(dataset: FileDataset, destination: Path, *, left_out: Collection[str]) -> None:
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


# The files of one key: the image as PNG or JPEG, its labels as PNG of class indices

_SUFFIXES = {"png": (".png",), "jpg": (".jpg", ".jpeg")}
"""format -> the suffixes of files that are in it already; the first one is written."""


@dataclass(frozen=True)
class Converter:
    """Makes the files of a folder dataset below `destination`. It pickles, for worker processes."""

    destination: Path
    code: LabelCode
    resize: Resize
    format: str
    bit_depth: int | None = None  # of the images of more than 8 bits, if there are any

    def __call__(self, item: tuple[str, Entry]) -> Problem | None:
        """Writes the image and the labels of one key, or says what is wrong with their sources."""
        key, source = item
        try:
            pixels = read_rgb(source.image, bit_depth=self.bit_depth or FULL_DEPTH)
            labels = self.code.decode(source.labels) if source.labels else None
        except FileError as error:
            return error.problem
        problem = size_problem(source, pixels.shape[:2], labels.shape) if labels is not None else None
        if problem:
            return problem
        output = self.output(key, source)
        self.write(output.image, self.image_file(source.image, pixels))
        if output.labels and labels is not None:
            self.write(output.labels, png(self.resize.labels(labels)))
        else:  # the source may have lost a label that was there before
            self.label_path(key).unlink(missing_ok=True)
        return None

    def output(self, key: str, source: Entry) -> Entry:
        """Where the files of a key go; keys may have dots, so no suffix is ever taken off them."""
        image = self.destination / "images" / f"{key}{_SUFFIXES[self.format][0]}"
        return Entry(image, self.label_path(key) if source.labels else None)

    def label_path(self, key: str) -> Path:
        return self.destination / "labels" / f"{key}.png"

    def is_done(self, key: str, source: Entry) -> bool:
        """Whether the outputs of a key are there and no older than their sources."""
        output = self.output(key, source)
        if source.labels is None or output.labels is None:
            return _is_current(output.image, source.image) and not self.label_path(key).exists()
        return _is_current(output.image, source.image) and _is_current(output.labels, source.labels)

    def image_file(self, source: Path, pixels: NDArray[np.uint8]) -> bytes:
        """The image file's content: the source's own where neither size nor format changes."""
        height, width = pixels.shape[:2]
        same_size = self.resize.target(height, width) == (height, width)
        if same_size and self.bit_depth is None and source.suffix.lower() in _SUFFIXES[self.format]:
            return source.read_bytes()
        resized = self.resize.image(pixels)
        return png(resized) if self.format == "png" else _jpeg(resized)

    def write(self, path: Path, content: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as temporary:  # what is left over was looked for once, before all files
            temporary.write_bytes(content)


def _is_current(output: Path, source: Path) -> bool:
    try:
        return output.stat().st_mtime_ns >= source.stat().st_mtime_ns
    except FileNotFoundError:
        return False


def png(pixels: NDArray[np.uint8]) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG", compress_level=4)  # twice as fast as 6, and 2 % larger
    return file.getvalue()


def _jpeg(pixels: NDArray[np.uint8]) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=95, subsampling=0)
    return file.getvalue()
