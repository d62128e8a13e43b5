"""Which format a file or a folder is in, and what to say where one lies that is no label image."""

from __future__ import annotations

from pathlib import Path

from recoseg.data.folder.listing import walk_folder
from recoseg.data.problem import Problem
from recoseg.errors import UserError
from recoseg.exchange import FORMATS
from recoseg.text import listed

_SUFFIXES = (".json", ".xml", ".txt", ".yaml", ".yml")
_OURS = (
    "train.txt",
    "val.txt",
    "test.txt",
    "classes.json",
    "import.json",
    "prepare.json",
    "predictions.json",
)


def detect_format(source: Path) -> str:
    """The one format that it is in; a `UserError` if that is none, or not one."""
    found = [name for name, format in FORMATS.items() if format.recognises(source)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UserError(
            f"{source} may be {listed(found, last='or')}: say which, as in recoseg import {found[0]} ..."
        )
    raise UserError(
        f"{source} holds labels of no known format; give FORMAT, one of {', '.join(FORMATS)}, or export "
        "again as docs/own_data.md says (Supervisely: as COCO)"
    )


def foreign_labels(root: Path) -> list[Problem]:
    """Exports of labelling tools in a dataset's folder: one problem a kind of file, with its remedy.

    Beside label images, those that do not lie among these are the user's own business.
    """
    problems = []
    has_labels = bool(walk_folder(root / "labels", once=False).images)
    for folder in [root / "labels"] if has_labels else [root, root / "labels", root / "annotations"]:
        if not folder.is_dir():
            continue
        files = sorted(
            path for path in _files_in(folder, deep=folder != root) if path.suffix.lower() in _SUFFIXES
        )
        for suffix in _SUFFIXES:
            alike = [path for path in files if path.suffix.lower() == suffix and path.name not in _OURS]
            problems += _problems_of(root, alike)
    return problems


def _files_in(folder: Path, *, deep: bool) -> list[Path]:
    return [path for path in (folder.rglob("*") if deep else folder.iterdir()) if path.is_file()]


def _problems_of(root: Path, files: list[Path]) -> list[Problem]:
    """Of files of one suffix, which are of one tool if the first is."""
    for path in files[:3]:
        for name, format in FORMATS.items():
            if format.recognises(path):
                more = f" (and {len(files) - 1} more beside it)" if len(files) > 1 else ""
                source = path if len(files) == 1 and name in ("coco", "label_studio", "cvat") else root
                what = f"this is {format.title}, not a label image{more}"
                return [Problem(str(path), what, f"recoseg import {name} {source} NEW_FOLDER", fatal=False)]
    return []
