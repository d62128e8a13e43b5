"""The files of one imported image: the image itself, linked or copied, and its labels as a PNG."""

from __future__ import annotations

import dataclasses
import hashlib
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from recoseg.data.image_files import write_png
from recoseg.data.problem import FileError, Problem
from recoseg.exchange.annotation import AnnotatedImage
from recoseg.exchange.drawing import Drawing
from recoseg.files import real, whole_file
from recoseg.records import Count
from recoseg.types import IGNORE, ClassInfo

Item = tuple[str, Path, AnnotatedImage]
"""A key, the image, and what is said of it."""


class Line(TypedDict):
    """What was done for one image, by `mark`: pixels by class, {} if it is unlabelled."""

    key: str
    mark: str
    photo: str
    pixels: dict[str, Count]
    notes: dict[str, Count]


@dataclass(frozen=True)
class LabelWriter:
    """Makes the files of an image below `destination`. It pickles, for worker processes."""

    destination: Path
    drawing: Drawing
    classes: ClassInfo
    copy: bool
    labelled: frozenset[str] = field(repr=False)

    def __call__(self, item: Item) -> Line | Problem:
        """Brings the image and draws its labels, or says what is wrong with them."""
        key, photo, image = item
        notes = Counter(image.notes)
        pixels: dict[str, int] = {}
        path = self.label_path(key)
        try:
            if key in self.labelled:
                labels = self.drawing(image, photo, notes)
                counts = np.bincount(labels.ravel(), minlength=256)
                pixels = {str(index): int(counts[index]) for index in np.flatnonzero(counts)}
        except FileError as error:
            path.unlink(missing_ok=True)
            return error.problem
        except MemoryError:
            path.unlink(missing_ok=True)
            what = "too large, with its labels, for the memory that is free"
            return Problem(str(photo), what, "close other programs, or cut it into tiles")
        if pixels.keys() <= {str(IGNORE)}:  # of all that was drawn, nothing was left
            if pixels:
                notes["images without a pixel of any class: unlabelled"] += 1
            pixels = {}
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as temporary, temporary.open("wb") as file:
                write_png(file, labels, palette=self.classes.palette)
        self._bring(photo, self.photo_path(key, photo))
        mark = _mark_of(item, copy=self.copy)
        return {
            "key": key,
            "mark": mark,
            "photo": f"{key}{photo.suffix}",
            "pixels": pixels,
            "notes": dict(notes),
        }

    def label_path(self, key: str) -> Path:
        return self.destination / "labels" / f"{key}.png"

    def photo_path(self, key: str, photo: Path) -> Path:
        """Keys may have dots, so no suffix is ever taken off them."""
        return self.destination / "images" / f"{key}{photo.suffix}"

    def is_done(self, item: Item, line: Line | None) -> bool:
        """Whether its files are there, made of the same."""
        key, photo, _ = item
        return (
            line is not None
            and line["mark"] == _mark_of(item, copy=self.copy)
            and self.photo_path(key, photo).exists()
            and self.label_path(key).exists() == bool(line["pixels"])
        )

    def _bring(self, photo: Path, target: Path) -> None:
        """A hard link, a symbolic one on another disk, or a copy; the image itself stays as it is."""
        origin = real(photo)
        target.parent.mkdir(parents=True, exist_ok=True)
        if self.copy:
            with whole_file(target) as temporary:
                shutil.copyfile(origin, temporary)
            return
        if target.exists() and target.samefile(origin):
            return
        target.unlink(missing_ok=True)
        try:
            target.hardlink_to(origin)
        except OSError:  # another disk, or one that knows no such links
            target.symlink_to(origin)


def _mark_of(item: Item, *, copy: bool) -> str:
    """The same as long as neither the image nor what is said of it changes."""
    _, photo, image = item
    content = hashlib.blake2b(digest_size=16)
    for part in _parts_of((image, photo, copy)):
        content.update(part)
    return content.hexdigest()


def _parts_of(value: Any) -> Iterator[bytes]:
    """All that a value is made of; files by size and time."""
    if isinstance(value, np.ndarray):
        yield f"{value.shape}".encode()
        yield value.tobytes()
    elif isinstance(value, Path):
        status = value.stat() if value.exists() else None
        yield f"{value} {status.st_size} {status.st_mtime_ns}".encode() if status else b"gone"
    elif dataclasses.is_dataclass(value):
        yield type(value).__name__.encode()
        for one in dataclasses.fields(value):
            yield from _parts_of(getattr(value, one.name))
    elif isinstance(value, tuple):
        yield b"("
        for part in value:
            yield from _parts_of(part)
        yield b")"
    else:
        yield repr(value).encode("utf-8", "surrogatepass") + b";"
