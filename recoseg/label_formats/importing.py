"""Importing: labels of any format as an ordinary folder dataset. A restart resumes an import that stopped."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from recoseg.data.image_files import write_png
from recoseg.data.list_files import list_text
from recoseg.data.problem import FileError, Problem
from recoseg.data.worker_processes import Progress, in_processes_if_slow
from recoseg.errors import UserError
from recoseg.files import real, remove_unfinished, whole_file, write_whole
from recoseg.label_formats.annotation import (
    BACKGROUND,
    VOIDED,
    AnnotatedImage,
    LabelSource,
    merge,
    number_classes,
)
from recoseg.label_formats.parsing import PhotoFinder
from recoseg.label_formats.rasterize import OVERLAPS, Drawing
from recoseg.predict.image_list import names_of
from recoseg.records import Count, read_records, write_or_compare
from recoseg.text import lookup, shortened
from recoseg.types import IGNORE, ClassInfo

UNPACKED = "unpacked"
"""In the destination: the content of a zip."""

_RECORD, _LOG = "import.json", "imported.jsonl"
_UNFINISHED = "(not finished: run recoseg import again)\n"


@dataclass(frozen=True, kw_only=True)
class ImportRules:
    """All choices that decide the labels; `rest` None is the choice of the format."""

    overlap: str = "smaller"
    rest: str | None = None
    empty: str = "unlabelled"
    thickness: int = 3
    classes: Sequence[str] | None = None

    def __post_init__(self) -> None:
        lookup(OVERLAPS, self.overlap, what="rule for overlaps")
        if not 1 <= self.thickness <= 999:
            raise UserError(f"--thickness: got {self.thickness}, needs 1 to 999 pixels")


@dataclass
class Imported:
    """The result of an import; `notes` counts what was left out or is void, with an example of each."""

    classes: ClassInfo
    rest: str
    notes: Counter[str]
    examples: dict[str, str]
    problems: list[Problem] = field(default_factory=list)
    #: all images; those that an earlier run had finished; those with labels
    num_images: int = 0
    num_kept: int = 0
    num_labelled: int = 0
    #: by class number, (256,): pixels, and labelled images
    pixels: NDArray[np.int64] = field(default_factory=lambda: np.zeros(256, dtype=np.int64))
    images: NDArray[np.int64] = field(default_factory=lambda: np.zeros(256, dtype=np.int64))

    @property
    def num_voided(self) -> int:
        """Objects that could not be drawn as they are."""
        return sum(count for text, count in self.notes.items() if text.endswith(VOIDED))


class Line(TypedDict):
    """A line of the log: the files of one image. `pixels` are by class; an unlabelled image has none."""

    key: str
    mark: str
    photo: str
    pixels: dict[str, Count]
    notes: dict[str, Count]


class _Record(TypedDict):
    """All that decides the content of the files, except the labels of the tool."""

    source: str
    overlap: str
    rest: str
    empty: str
    thickness: Count
    classes: list[str]


def import_labels(
    source: LabelSource,
    destination: Path,
    *,
    rules: ImportRules,
    photos: Path | None = None,
    named_only: bool = False,
    copy: bool = False,
    num_workers: int = 1,
    progress: Progress | None = None,
) -> Imported:
    """Write `source` as a folder dataset. Images are linked, or copied, from `photos` or next to the labels.

    With `named_only`, images that the tool does not name are left out; else they are unlabelled images.
    """
    notes, examples = Counter(source.notes), dict[str, str]()
    found = _find_photos(source, photos or source.home, notes, examples, named_only=named_only)
    rest = rules.rest or source.rest
    labelled = {key for key, (_, image) in found.items() if _has_labels(image, rules)}
    # Without an image in which pixels without an object are known, there is no background.
    drawn = [image for key, (_, image) in found.items() if key in labelled and image.labels is None]
    with_background = rest == BACKGROUND and any(not image.has_strokes for image in drawn)
    classes, numbers = number_classes(source, chosen=rules.classes, with_background=with_background)
    imported = Imported(classes, rest, notes, examples)

    log = _begin(destination, source, rules, classes, rest)
    items = [
        Item(key, photo, image, key in labelled, _mark_of(photo, image, copy=copy))
        for key, (photo, image) in found.items()
    ]
    drawing = Drawing(numbers, rules.overlap, rest, rules.thickness)
    write = ImageWriter(real(destination), drawing, classes, copy)
    pending = [item for item in items if not write.is_done(item, log.get(item.key))]
    _remove_files(destination, [line for key, line in log.items() if key not in found])
    if pending and not os.path.lexists(destination / "train.txt"):
        # Nothing can train on half an import.
        write_whole(destination / "train.txt", _UNFINISHED)
    results = {key: line for key, line in log.items() if key in found}
    work = in_processes_if_slow(write, pending, num_workers=num_workers, progress=progress)
    with (destination / _LOG).open("a", encoding="utf-8") as file:
        for item, result in zip(pending, work, strict=True):
            if isinstance(result, Problem):
                imported.problems.append(result)
                results.pop(item.key, None)
                continue
            results[item.key] = result
            file.write(json.dumps(result) + "\n")
            file.flush()
    _finish(destination, classes, results, {item.key: item.image.subset for item in items})
    imported.num_images, imported.num_kept = len(results), len(items) - len(pending)
    for line in results.values():
        imported.num_labelled += bool(line["pixels"])
        for index, count in line["pixels"].items():
            imported.pixels[int(index)] += count
            imported.images[int(index)] += 1
        notes.update(line["notes"])
        for text in line["notes"]:
            examples.setdefault(text, line["key"])
    return imported


def _find_photos(
    source: LabelSource, folder: Path, notes: Counter[str], examples: dict[str, str], *, named_only: bool
) -> dict[str, tuple[Path, AnnotatedImage]]:
    """Return key -> photo and labels, sorted; a key is its path in the folder that they have in common."""
    if not source.images:
        raise UserError(f"{source.place} lists no images, so there is nothing to import")
    finder = PhotoFinder(folder, masks=source.masks)
    by_photo: dict[Path, list[AnnotatedImage]] = {}
    for image in source.images:
        photo = finder.find(image.file)
        if isinstance(photo, str):
            notes[photo] += 1
            examples.setdefault(photo, image.file)
        else:
            by_photo.setdefault(photo, []).append(image)
    if not by_photo:
        raise UserError(
            f"none of the {len(source.images)} labelled images, such as {shortened(source.images[0].file)}, "
            f"is in {folder}; give the folder of the images with --images"
        )
    found = {photo: merge(images) for photo, images in by_photo.items()}
    if not named_only:
        found |= {path: AnnotatedImage("", listed=False) for path in finder.photos if path not in found}
    keys = names_of(list(found), os.path.commonpath([path.parent for path in found]))
    items = zip((key.as_posix() for key in keys), found.items(), strict=True)
    return dict(sorted(items, key=lambda item: item[0]))


def _has_labels(image: AnnotatedImage, rules: ImportRules) -> bool:
    """An image without an object is unlabelled, unless it is known to be empty."""
    is_empty = image.listed and not image.notes
    return image.has_objects or (rules.empty == BACKGROUND and is_empty)


# The folder


def require_ours(destination: Path) -> None:
    """Raise unless it is a new folder, an empty one, or one of an earlier import."""
    if destination.exists() and not destination.is_dir():
        raise UserError(f"{destination} is a file; give a new or empty folder")
    if not destination.is_dir() or os.path.lexists(destination / _RECORD):
        return
    remove_unfinished(destination, name=_RECORD)
    if any(path.name != UNPACKED for path in destination.iterdir()):
        raise UserError(
            f"{destination} holds files that recoseg import did not write; give a new or empty folder"
        )


def _begin(
    destination: Path, source: LabelSource, rules: ImportRules, classes: ClassInfo, rest: str
) -> dict[str, Line]:
    """Make the folder, or require that it was begun with the same rules; return its log by key."""
    record: _Record = {
        "source": str(real(source.home)),
        "overlap": rules.overlap,
        "rest": rest,
        "empty": rules.empty,
        "thickness": rules.thickness,
        "classes": list(classes.names),
    }
    require_ours(destination)
    write_or_compare(destination / _RECORD, record, _Record)
    remove_unfinished(destination)
    log = destination / _LOG
    if not os.path.lexists(log):
        return {}
    remedy = "remove it, and all labels are drawn again"
    return {line["key"]: line for line in read_records(log, Line, what="log", remedy=remedy, is_log=True)}


def _remove_files(destination: Path, lines: Sequence[Line]) -> None:
    """Remove the files of an earlier run, of images that the source no longer has."""
    for line in lines:
        for path in (destination / "images" / line["photo"], destination / "labels" / f"{line['key']}.png"):
            # A log may be damaged.
            if ".." not in path.parts and path.is_relative_to(destination):
                path.unlink(missing_ok=True)


def _finish(
    destination: Path, classes: ClassInfo, results: Mapping[str, Line], subsets: Mapping[str, str]
) -> None:
    """Write the sorted log, the class file, and lists of the tool's images for validation and test."""
    write_whole(destination / _LOG, "".join(json.dumps(results[key]) + "\n" for key in sorted(results)))
    content = {
        "names": list(classes.names),
        "palette": [list(colour) for colour in classes.palette],
        "ignore_index": IGNORE,
        "format": "index",
    }
    write_whole(destination / "classes.json", json.dumps(content, indent=1) + "\n")
    for subset in ("val", "test"):
        keys = [key for key in results if subsets[key] == subset]
        keys = [key for key in keys if results[key]["pixels"] or subset == "test"]
        if keys:
            write_whole(destination / f"{subset}.txt", list_text(sorted(keys)))
    path = destination / "train.txt"
    if path.exists() and path.read_text(encoding="utf-8") == _UNFINISHED:
        path.unlink()


# The files of an image


@dataclass(frozen=True)
class Item:
    """One image to import: its key, file and labels; `mark` changes with any of them."""

    key: str
    photo: Path
    image: AnnotatedImage
    is_labelled: bool
    mark: str


def _mark_of(photo: Path, image: AnnotatedImage, *, copy: bool) -> str:
    files = [path.stat() if path.exists() else None for path in (photo, *image.mask_files)]
    times = [status and (status.st_size, status.st_mtime_ns) for status in files]
    return hashlib.blake2b(pickle.dumps((image, str(photo), times, copy)), digest_size=16).hexdigest()


@dataclass(frozen=True)
class ImageWriter:
    """Writes the files of an image below `destination`; it pickles, for worker processes."""

    destination: Path
    drawing: Drawing
    classes: ClassInfo
    copy: bool

    def paths(self, item: Item) -> tuple[Path, Path]:
        """Return where the image and its labels are to be."""
        photo = self.destination / "images" / f"{item.key}{item.photo.suffix}"
        return photo, self.destination / "labels" / f"{item.key}.png"

    def is_done(self, item: Item, line: Line | None) -> bool:
        """Whether its files exist, made from the same labels."""
        photo, label = self.paths(item)
        is_same = line is not None and line["mark"] == item.mark
        return is_same and photo.exists() and label.exists() == bool(line and line["pixels"])

    def __call__(self, item: Item) -> Line | Problem:
        """Link or copy the image and draw its labels, or return the problem with them."""
        photo, label = self.paths(item)
        notes = Counter(item.image.notes)
        pixels: dict[str, int] = {}
        label.unlink(missing_ok=True)
        try:
            if item.is_labelled:
                labels = self.drawing(item.image, item.photo, notes)
                counts = np.bincount(labels.ravel(), minlength=256)
                pixels = {str(index): int(counts[index]) for index in np.flatnonzero(counts)}
        except FileError as error:
            return error.problem
        except MemoryError:
            what = "too large, with its labels, for the memory that is free"
            return Problem(str(item.photo), what, "close other programs, or cut it into tiles")
        if pixels.keys() == {str(IGNORE)}:
            notes["images without a pixel of any class: unlabelled"] += 1
            pixels = {}
        if pixels:
            label.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(label) as temporary, temporary.open("wb") as file:
                write_png(file, labels, palette=self.classes.palette)
        _bring(item.photo, photo, copy=self.copy)
        name = f"{item.key}{item.photo.suffix}"
        return {"key": item.key, "mark": item.mark, "photo": name, "pixels": pixels, "notes": dict(notes)}


def _bring(photo: Path, target: Path, *, copy: bool) -> None:
    """Make a hard link, a symbolic one on another disk, or a copy. The photo itself stays as it is."""
    origin = real(photo)
    target.parent.mkdir(parents=True, exist_ok=True)
    if copy:
        with whole_file(target) as temporary:
            shutil.copyfile(origin, temporary)
    elif not target.exists() or not target.samefile(origin):
        target.unlink(missing_ok=True)
        try:
            target.hardlink_to(origin)
        except OSError:  # another disk, or one without such links
            target.symlink_to(origin)
