"""Importing: labels of any format as an ordinary folder dataset.

A restart goes on where the last one stopped.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from recoseg.data.list_files import list_text
from recoseg.data.problem import Problem
from recoseg.data.worker_processes import Progress, in_processes_if_slow
from recoseg.errors import UserError
from recoseg.exchange.annotation import BACKGROUND, AnnotatedImage, LabelSource, Strokes, merged
from recoseg.exchange.class_numbers import ClassNumbers, number_classes
from recoseg.exchange.drawing import OVERLAPS, Drawing
from recoseg.exchange.label_writer import Item, LabelWriter, Line
from recoseg.exchange.parsing import VOIDED
from recoseg.exchange.photo_finder import PhotoFinder
from recoseg.files import real, remove_unfinished, write_whole
from recoseg.predict.image_list import names_of
from recoseg.records import Count, read_records, write_or_compare
from recoseg.text import lookup, shortened
from recoseg.types import IGNORE, ClassInfo

_RECORD, _LOG = "import.json", "imported.jsonl"
UNPACKED = "unpacked"
"""In the destination: what a zip held."""

_UNFINISHED = "(not finished: run recoseg import again)\n"
_LISTED_SUBSETS = ("val", "test")  # all others are for training


@dataclass(frozen=True, kw_only=True)
class ImportRules:
    """What decides what the labels will be; `rest` None leaves it to the format."""

    overlap: str = "smaller"
    rest: str | None = None
    empty: str = "unlabelled"
    thickness: int = 3
    classes: Sequence[str] | None = None

    def __post_init__(self) -> None:
        lookup(OVERLAPS, self.overlap, what="rule for overlaps")
        if not 1 <= self.thickness <= 999:
            raise UserError(f"lines and points must be 1 to 999 pixels wide, not {self.thickness}")


@dataclass(frozen=True)
class Imported:
    """What was done; `notes` says what was left out, and why."""

    classes: ClassInfo
    num_images: int
    num_kept: int  # labels that an earlier run had drawn
    pixels: NDArray[np.int64]  # (256,)
    images: NDArray[np.int64]  # (256,) labelled images in which the class occurs
    num_labelled: int
    notes: Mapping[str, Note]
    problems: tuple[Problem, ...]
    rest: str

    @property
    def num_voided(self) -> int:
        """Objects that could not be drawn as they are."""
        return sum(note.count for text, note in self.notes.items() if text.endswith(VOIDED))


@dataclass
class Note:
    """How often something happened, and to whom first."""

    count: int = 0
    example: str = ""


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
    """Writes `source` as a folder dataset. Images are linked, or copied, from `photos` or its own folder.

    With `named_only` images that the tool does not name stay away; else they come along, unlabelled.
    """
    notes: dict[str, Note] = {text: Note(count) for text, count in source.notes.items()}
    found = _found_photos(source, photos or source.home, notes, named_only=named_only)
    rest = rules.rest or source.rest
    wanted = {key: item for key, item in found.items() if _has_labels(item[1], rules)}
    with_background = rest == BACKGROUND and any(_is_whole(image) for _, image in wanted.values())
    classes = number_classes(source, wanted=rules.classes, with_background=with_background)
    drawing = Drawing(classes.numbers, classes.background, rules.overlap, rest, rules.thickness)
    writer = LabelWriter(real(destination), drawing, classes.info, copy=copy, labelled=frozenset(wanted))
    log = _begun(destination, source, rules, classes, rest)
    before = {line["key"]: line for line in log}
    items = [(key, *item) for key, item in found.items()]
    pending = [item for item in items if not writer.is_done(item, before.get(item[0]))]
    _remove_gone(destination, before.keys() - found.keys(), before)
    if pending:
        _mark_unfinished(destination)
    results = {key: line for key, line in before.items() if key in found}
    problems: list[Problem] = []
    work = in_processes_if_slow(writer, pending, num_workers=num_workers, progress=progress)
    with (destination / _LOG).open("a", encoding="utf-8") as file:
        for (key, _, _), result in zip(pending, work, strict=True):
            if isinstance(result, Problem):
                problems.append(result)
                results.pop(key, None)
                continue
            results[key] = result
            file.write(json.dumps(result) + "\n")
            file.flush()
    _tidy_log(destination, results)
    _finish(destination, classes.info, found, results)
    for line in results.values():
        for text, count in line["notes"].items():
            _add(notes, text, count, line["key"])
    return _summary(classes.info, items, pending, results, notes, problems, rest)


def _add(notes: dict[str, Note], text: str, count: int, example: str) -> None:
    note = notes.setdefault(text, Note(example=example))
    note.count += count


def _found_photos(
    source: LabelSource, folder: Path, notes: dict[str, Note], *, named_only: bool
) -> dict[str, tuple[Path, AnnotatedImage]]:
    """key -> the image and what is said of it, sorted; a key is its path in the folder that holds all."""
    if not source.images:
        raise UserError(f"{source.home} lists no images, so there is nothing to import")
    finder = PhotoFinder(folder, masks=source.masks)
    by_photo: dict[Path, list[AnnotatedImage]] = {}
    for image in source.images:
        photo = finder.find(image.file)
        if isinstance(photo, str):
            _add(notes, photo, 1, image.file)
        else:
            by_photo.setdefault(photo, []).append(dataclasses.replace(image, file=str(photo)))
    if not by_photo:
        raise UserError(
            f"none of the {len(source.images)} labelled images, such as {shortened(source.images[0].file)}, "
            f"is in {folder}; give the folder of the images with --images"
        )
    named = {photo: merged(images)[0] for photo, images in by_photo.items()}
    others = [] if named_only else [path for path in finder.photos if path not in named]
    everything = named | {path: AnnotatedImage(str(path), listed=False) for path in others}
    shared = os.path.commonpath([path.parent for path in everything])
    keys = [name.as_posix() for name in names_of(list(everything), shared)]
    return dict(sorted(zip(keys, everything.items(), strict=True)))


def _has_labels(image: AnnotatedImage, rules: ImportRules) -> bool:
    """An image of which nothing is said is unlabelled, unless it is said to be empty."""
    is_empty = image.listed and not image.notes
    return image.has_objects or (rules.empty == BACKGROUND and is_empty)


def _is_whole(image: AnnotatedImage) -> bool:
    """Whether what is not drawn in it has a meaning."""
    return image.labels is None and not any(isinstance(shape.form, Strokes) for shape in image.shapes)


class _Begun(TypedDict):
    """All that decides what the files will hold, apart from what the tool says."""

    source: str
    overlap: str
    rest: str
    empty: str
    thickness: Count
    classes: list[str]


def _begun(
    destination: Path, source: LabelSource, rules: ImportRules, classes: ClassNumbers, rest: str
) -> list[Line]:
    """Makes the folder, or makes sure that what is there was begun in the same way; what was done so far."""
    record: _Begun = {
        "source": str(real(source.home)),
        "overlap": rules.overlap,
        "rest": rest,
        "empty": rules.empty,
        "thickness": rules.thickness,
        "classes": list(classes.info.names),
    }
    require_ours(destination)
    write_or_compare(destination / _RECORD, record, _Begun)
    remove_unfinished(destination)
    log = destination / _LOG
    if not os.path.lexists(log):
        return []
    remedy = "remove it, and all labels are drawn again"
    lines: list[Line] = read_records(log, Line, what="log", remedy=remedy, is_log=True)
    return lines


def require_ours(destination: Path) -> None:
    """A new folder, an empty one, or one that an import was begun in."""
    if destination.exists() and not destination.is_dir():
        raise UserError(f"{destination} is a file; give a new or empty folder")
    if not destination.is_dir() or os.path.lexists(destination / _RECORD):
        return
    remove_unfinished(destination, name=_RECORD)
    if any(one.name != UNPACKED for one in destination.iterdir()):
        raise UserError(
            f"{destination} holds files that recoseg import did not write; give a new or empty folder"
        )


def _mark_unfinished(destination: Path) -> None:
    """No training on half of it; a list that the user wrote stays."""
    path = destination / "train.txt"
    if not path.exists():
        write_whole(path, _UNFINISHED)


def _remove_gone(destination: Path, keys: set[str], before: Mapping[str, Line]) -> None:
    """What an earlier run made of images that are in the source no more."""
    for key in keys:
        for path in (destination / "images" / before[key]["photo"], destination / "labels" / f"{key}.png"):
            if ".." not in path.parts and path.is_relative_to(destination):  # whatever the log says
                path.unlink(missing_ok=True)


def _tidy_log(destination: Path, results: Mapping[str, Line]) -> None:
    """A line an image, in the order of keys."""
    write_whole(destination / _LOG, "".join(json.dumps(results[key]) + "\n" for key in sorted(results)))


def _finish(
    destination: Path,
    classes: ClassInfo,
    found: Mapping[str, tuple[Path, AnnotatedImage]],
    results: Mapping[str, Line],
) -> None:
    """Writes the class file, and lists of the images that the tool has for validation and test."""
    content = {
        "names": list(classes.names),
        "palette": [list(colour) for colour in classes.palette],
        "ignore_index": IGNORE,
        "format": "index",
    }
    write_whole(destination / "classes.json", json.dumps(content, indent=1) + "\n")
    for subset in _LISTED_SUBSETS:
        keys = [key for key in results if found[key][1].subset == subset]
        keys = [key for key in keys if results[key]["pixels"] or subset == "test"]
        if keys:
            write_whole(destination / f"{subset}.txt", list_text(sorted(keys)))
    path = destination / "train.txt"
    if path.exists() and path.read_text(encoding="utf-8") == _UNFINISHED:
        path.unlink()


def _summary(
    classes: ClassInfo,
    items: Sequence[Item],
    pending: Sequence[Item],
    results: Mapping[str, Line],
    notes: Mapping[str, Note],
    problems: Sequence[Problem],
    rest: str,
) -> Imported:
    pixels, images = np.zeros(256, dtype=np.int64), np.zeros(256, dtype=np.int64)
    for line in results.values():
        for index, count in line["pixels"].items():
            pixels[int(index)] += count
            images[int(index)] += 1
    num_labelled = sum(bool(line["pixels"]) for line in results.values())
    kept = len(items) - len(pending)
    return Imported(classes, len(results), kept, pixels, images, num_labelled, notes, tuple(problems), rest)
