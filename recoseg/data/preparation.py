"""A whole dataset at another size, written as an ordinary folder dataset. A restart continues."""

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

FEW_IMAGES = 100  # starting worker processes takes longer than these

_RECORD = "prepare.json"
_UNFINISHED = "(not finished: run recoseg prepare again)\n"
_SUFFIXES = {"png": (".png",), "jpg": (".jpg", ".jpeg")}
"""format -> suffixes of files that have it already; new files get the first."""


@dataclass(frozen=True)
class Prepared:
    """The number of images in the result and of those kept from an earlier start; what was left out.

    `bit_depth` is None if no image has more than 8 bits.
    """

    num_images: int
    num_kept: int
    problems: tuple[Problem, ...]
    bit_depth: int | None = None


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
    """Write `dataset`, read from `source`, as a folder dataset, and its lists last.

    An image with unusable files is left out and reported; all others are done.
    """
    lookup(_SUFFIXES, format, what="format")
    if real(destination).is_relative_to(real(source)):
        raise UserError(
            f"{destination} lies in {source}, which is only read; give another folder to write to"
        )
    entries = {key: dataset.entry(key) for subset in SUBSETS for key in dataset.keys(subset)}
    bit_depth = measure_bit_depth([entry.image for entry in entries.values()], num_workers=num_workers)
    if bit_depth is not None and dataset.bit_depth != FULL_DEPTH:
        bit_depth = dataset.bit_depth
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
    _begin(destination, record)
    converter = Converter(real(destination), dataset.code, resize, format, bit_depth)
    pending = {key: entry for key, entry in entries.items() if not converter.is_done(key, entry)}
    num_kept = len(entries) - len(pending)
    if pending:
        write_whole(destination / "train.txt", _UNFINISHED)
    problems = {
        key: Problem(str(entries[key].image), "a validation image without a label", "restore its label")
        for key in dataset.keys("val")
        if not dataset.has_labels(key)
    }
    results = in_processes(converter, pending.items(), num_workers=num_workers, few=FEW_IMAGES)
    for done, (key, problem) in enumerate(zip(pending, results, strict=True), start=num_kept + 1):
        if problem:
            problems.setdefault(key, problem)
        if progress:
            progress(done, len(entries))
    _write_lists(dataset, destination, left_out=problems.keys())
    return Prepared(len(entries) - len(problems), num_kept, tuple(problems.values()), bit_depth)


def _begin(destination: Path, record: _Record) -> None:
    """Make the folder, or make sure that an earlier start had the same settings."""
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


def _write_lists(dataset: FileDataset, destination: Path, *, left_out: Collection[str]) -> None:
    """Write the class file and the lists, which make the files a folder dataset."""
    classes = {
        "names": list(dataset.classes.names),
        "palette": [list(colour) for colour in dataset.classes.palette],
        "ignore_index": IGNORE,
        "format": "index",
    }
    write_whole(destination / "classes.json", json.dumps(classes, indent=1) + "\n")
    for subset in reversed(SUBSETS):  # train last: until then it says that this is not finished
        path = destination / f"{subset}.txt"
        if text := list_text(key for key in dataset.keys(subset) if key not in left_out):
            write_whole(path, text)
        else:
            path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Converter:
    """Writes the image and the labels of a key below `destination`. It pickles, for worker processes."""

    destination: Path
    code: LabelCode
    resize: Resize
    format: str
    bit_depth: int | None = None  # of the images of more than 8 bits, if there are any

    def __call__(self, item: tuple[str, Entry]) -> Problem | None:
        """Write the files of one key, or return the problem of their sources."""
        key, source = item
        try:
            pixels = read_rgb(source.image, bit_depth=self.bit_depth or FULL_DEPTH)
            labels = self.code.decode(source.labels) if source.labels else None
        except FileError as error:
            return error.problem
        if labels is not None and (problem := size_problem(source, pixels.shape[:2], labels.shape)):
            return problem
        image_path, label_path = self._paths(key)
        same_size = self.resize.target(*pixels.shape[:2]) == pixels.shape[:2]
        if same_size and self.bit_depth is None and source.image.suffix.lower() in _SUFFIXES[self.format]:
            _write(image_path, source.image.read_bytes())
        else:
            _write(image_path, encode(self.resize.image(pixels), self.format))
        if labels is not None:
            _write(label_path, encode(self.resize.labels(labels), "png"))
        else:  # the source may have lost a label that was there before
            label_path.unlink(missing_ok=True)
        return None

    def is_done(self, key: str, source: Entry) -> bool:
        """Whether the files of a key exist and are no older than their sources."""
        image_path, label_path = self._paths(key)
        if source.labels is None:
            return _is_current(image_path, source.image) and not label_path.exists()
        return _is_current(image_path, source.image) and _is_current(label_path, source.labels)

    def _paths(self, key: str) -> tuple[Path, Path]:
        """Return the paths of image and labels. Keys may have dots, so no suffix is taken off them."""
        image = self.destination / "images" / f"{key}{_SUFFIXES[self.format][0]}"
        return image, self.destination / "labels" / f"{key}.png"


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as temporary:  # `_begin` removed what a killed process left, once for all files
        temporary.write_bytes(content)


def _is_current(output: Path, source: Path) -> bool:
    return output.exists() and output.stat().st_mtime_ns >= source.stat().st_mtime_ns


def encode(pixels: NDArray[np.uint8], format: str) -> bytes:
    """Return the content of a PNG or JPEG file."""
    file = io.BytesIO()
    if format == "png":
        Image.fromarray(pixels).save(file, "PNG", compress_level=4)  # twice as fast as 6, and 2 % larger
    else:
        Image.fromarray(pixels).save(file, "JPEG", quality=95, subsampling=0)
    return file.getvalue()
