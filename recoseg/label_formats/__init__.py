"""Formats of labelling tools: `FORMATS` are read, `importing` makes a folder dataset, `exporting` goes back.

A format is a module with `read(path)`, which makes the nouns of `annotation` from the files of a tool. It
recognises JSON by `matches(content)`, and other files by `recognises(path)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recoseg.data.folder.listing import walk_folder
from recoseg.data.problem import FileError, Problem
from recoseg.errors import UserError
from recoseg.label_formats import coco, cvat, label_studio, labelme, masks, parsing, voc, yolo
from recoseg.label_formats.annotation import LabelSource
from recoseg.text import listed


@dataclass(frozen=True, kw_only=True)
class Format:
    """Its name, its reader, and how to recognise its files: JSON by content, others by path."""

    title: str
    read: Callable[[Path], LabelSource]
    matches: Callable[[Any], bool] = lambda content: False
    recognises: Callable[[Path], bool] = lambda source: False
    #: images are always in the same folder
    has_photos: bool = False


FORMATS = {
    "coco": Format(title="COCO", read=coco.read, matches=coco.matches),
    "labelme": Format(title="LabelMe", read=labelme.read, matches=labelme.matches),
    "cvat": Format(title="CVAT", read=cvat.read, recognises=cvat.recognises),
    "label_studio": Format(title="Label Studio", read=label_studio.read, matches=label_studio.matches),
    "voc": Format(title="Pascal VOC masks", read=voc.read, recognises=voc.recognises),
    "yolo": Format(title="YOLO", read=yolo.read, recognises=yolo.recognises, has_photos=True),
    "masks": Format(title="binary masks", read=masks.read, recognises=masks.recognises, has_photos=True),
}

_SUFFIXES = (".json", ".xml", ".txt", ".yaml", ".yml")
_OURS = (
    "train.txt", "val.txt", "test.txt", "classes.json", "import.json", "prepare.json", "predictions.json",
)  # fmt: skip


def detect_format(source: Path) -> str:
    """Return the name of its format; a `UserError` if there is none, or several."""
    names = _recognise(source)
    if len(names) == 1:
        return names[0]
    if names:
        raise UserError(
            f"{source} may be {listed(names, last='or')}: give FORMAT, as in recoseg import {names[0]} ..."
        )
    raise UserError(
        f"{source} holds labels of no known format; give FORMAT, one of {', '.join(FORMATS)}, or export "
        "again as docs/own_data.md says (Supervisely: as COCO)"
    )


def _recognise(source: Path) -> list[str]:
    """Return the formats of a file or folder."""
    found = {name for name, format in FORMATS.items() if format.recognises(source)}
    for path in parsing.files_with(".json", source)[: parsing.NUM_EXAMPLES]:
        try:
            content = parsing.read_json(path)
        except (FileError, OSError):
            continue
        found |= {name for name, format in FORMATS.items() if format.matches(content)}
    return [name for name in FORMATS if name in found]


def find_foreign_labels(root: Path) -> list[Problem]:
    """Return exports of labelling tools in a dataset's folder: one problem per kind of file, with its remedy.

    Next to label images, only files among these are a problem.
    """
    problems = []
    has_labels = bool(walk_folder(root / "labels", once=False).images)
    for folder in [root / "labels"] if has_labels else [root, root / "labels", root / "annotations"]:
        paths = sorted(folder.rglob("*") if folder != root else folder.glob("*"))
        files = [path for path in paths if path.name not in _OURS and path.is_file()]
        for suffix in _SUFFIXES:
            problems += _find_export(root, [path for path in files if path.suffix.lower() == suffix])
    return problems


def _find_export(root: Path, files: list[Path]) -> list[Problem]:
    """Files of one suffix belong to one tool, if one of the first does."""
    for path in files[:3]:
        for name in _recognise(path)[:1]:
            more = f" (and {len(files) - 1} more next to it)" if len(files) > 1 else ""
            source = path if len(files) == 1 and name in ("coco", "label_studio", "cvat") else root
            what = f"this is {FORMATS[name].title}, not a label image{more}"
            return [Problem(str(path), what, f"recoseg import {name} {source} NEW_FOLDER", fatal=False)]
    return []
