"""What lies in a folder dataset: images and labels paired by stem, list files, and what is wrong there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from recoseg.data.dataset import SUBSETS
from recoseg.data.file_dataset import Entry
from recoseg.data.image_files import FORMATS, image_suffixes, not_text
from recoseg.data.list_files import numbered_lines, spelled_key
from recoseg.data.problem import Problem, raise_first
from recoseg.errors import UserError
from recoseg.files import real
from recoseg.text import is_text

_JUNK = ("Thumbs.db", "desktop.ini")


@dataclass(frozen=True)
class FolderListing:
    """Files of a folder dataset. A key is a path below `images/`, without suffix, with forward slashes."""

    root: Path
    entries: Mapping[str, Entry]  # sorted by key
    lists: Mapping[str, tuple[str, ...]]  # only the subsets that have a list file
    problems: tuple[Problem, ...]

    @property
    def labelled(self) -> list[str]:
        """Keys that have a label file."""
        return [key for key, entry in self.entries.items() if entry.labels]


def scan_folder(root: Path) -> FolderListing:
    """Everything in the folder `root`, with all that is wrong; raises only if there are no images at all."""
    images, image_problems = _index_files(_image_folder(root), once=True)
    if not images:
        raise_first(image_problems, root=root)
        kinds = ", ".join(FORMATS.values())
        raise UserError(f"{root / 'images'} holds no images ({kinds}); put your images there")
    labels, label_problems = _index_files(root / "labels", once=False)  # images may share labels
    problems = image_problems + label_problems + _pairing_problems(root, images, labels)
    lists: dict[str, tuple[str, ...]] = {}
    for subset in SUBSETS:
        if os.path.lexists(root / f"{subset}.txt"):
            lists[subset], list_problems = _read_list(root / f"{subset}.txt", images)
            problems += list_problems
    entries = {key: Entry(path, labels.get(key)) for key, path in images.items()}
    return FolderListing(root, entries, lists, tuple(problems))


def _image_folder(root: Path) -> Path:
    """`root/images`, or an error that says what is missing."""
    if not root.is_dir():
        trouble = "is a file" if root.exists() else "does not exist"
        raise UserError(f"the data folder {root} {trouble}; give a folder that holds images/ and labels/")
    images = root / "images"
    if not images.is_dir():
        if root.name == "images":
            raise UserError(f"{root} holds the images themselves; give the folder above it: {root.parent}")
        raise UserError(
            f"{root} has no folder images/; put images into {images} and labels into {root / 'labels'}, "
            "or let recoseg prepare make such a folder from a dataset in its own layout, or recoseg import "
            "from labels of a labelling tool"
        )
    return images


def _index_files(folder: Path, *, once: bool) -> tuple[dict[str, Path], list[Problem]]:
    """Image files at any depth by key, sorted, and the files whose stem another one already has.

    With `once`, a folder that several links lead to is one folder: an image in it is one image.
    """
    below = walk_folder(folder, once=once)
    files: dict[str, Path] = {}
    what, remedy = "a link to a folder that is counted already", "remove the link"
    problems = [Problem(str(path), what, remedy, fatal=False) for path in below.left_out]
    for path in below.images:
        key = path.relative_to(folder).with_suffix("").as_posix()
        if not is_text(key):
            problems.append(not_text(path).problem)
        elif key in files:
            what = f"has the same stem as {files[key].name}, so labels and lists cannot tell them apart"
            problems.append(Problem(str(path), what, "rename or remove one of the two"))
        else:
            files[key] = path
    return dict(sorted(files.items())), problems


@dataclass(frozen=True)
class _FolderTree:
    """What lies below a folder, at any depth and sorted; hidden files and folders are left out."""

    images: list[Path]  # files that look like images by their suffix
    folders: list[Path]  # itself as well
    left_out: list[Path]  # links to folders that are counted already


def walk_folder(folder: Path, *, once: bool = True) -> _FolderTree:
    """Every folder once, by its own name rather than that of a link to it.

    Unless `once`, several links may lead to one folder. A link that leads back to a folder in which it lies
    is never followed: there would be no end to it.
    """
    images, folders, left_out = [], [], []
    if not folder.is_dir():
        return _FolderTree([], [], [])
    above = {str(folder): frozenset(_identity(parent) for parent in real(folder).parents)}
    seen: set[tuple[int, int]] = set()
    waiting = [str(folder)]
    while waiting:  # links wait for all that is not reached through them
        for place, names, files in os.walk(waiting.pop(0), onerror=_raise_unreadable, followlinks=False):
            this = _identity(place)
            if this in above[place] or (once and this in seen):
                left_out.append(Path(place))
                names.clear()
                continue
            seen.add(this)
            folders.append(Path(place))
            images += [Path(place, name) for name in files if _looks_like_image(name)]
            names[:] = sorted(name for name in names if not name.startswith("."))
            inner = [os.path.join(place, name) for name in names]  # noqa: PTH118 (as os.walk will call them)
            above |= dict.fromkeys(inner, above[place] | {this})
            waiting += [path for path in inner if os.path.islink(path)]  # noqa: PTH114
    return _FolderTree(*(sorted(paths, key=Path.as_posix) for paths in (images, folders, left_out)))


def _identity(folder: str | Path) -> tuple[int, int]:
    """The same for a folder whatever it is called."""
    status = os.stat(folder)  # noqa: PTH116
    return status.st_dev, status.st_ino


def _looks_like_image(name: str) -> bool:
    hidden = name.startswith(".") or name in _JUNK
    return not hidden and Path(name).suffix.lower() in image_suffixes()


def _raise_unreadable(error: OSError) -> None:
    raise UserError(f"cannot list {error.filename} ({error.strerror}); make the folder readable")


def _pairing_problems(root: Path, images: Mapping[str, Path], labels: Mapping[str, Path]) -> list[Problem]:
    """Labels that belong to no image; fatal only if no image has a label."""
    if not images.keys() & labels.keys():
        return [_no_labels_problem(root, images, labels)]
    remedy = "name it as its image (suffix aside), restore the image, or remove the label"
    return [
        Problem(str(path), "a label without an image", remedy, fatal=False)
        for key, path in labels.items()
        if key not in images
    ]


def _no_labels_problem(root: Path, images: Mapping[str, Path], labels: Mapping[str, Path]) -> Problem:
    """Says where the label of some image was looked for, and what lies there instead."""
    key, image = next(iter(images.items()))
    wanted = f"no image has a label: that of {image.relative_to(root).as_posix()} would be labels/{key}.png"
    if not labels:
        return Problem(str(root / "labels"), wanted, "put at least a few labels there")
    example = next(iter(labels.values())).relative_to(root).as_posix()
    remedy = f"{len(labels)} labels have other names, such as {example}: rename them"
    return Problem(str(root / "labels"), wanted, remedy)


def _read_list(path: Path, images: Mapping[str, Path]) -> tuple[tuple[str, ...], list[Problem]]:
    """The keys of a list file in its order, each once, and the lines that name no image."""
    keys: dict[str, None] = {}
    problems = []
    for number, line in numbered_lines(path):
        key = _match_key(line, images)
        if key is None:
            where = f"{path}, line {number}: {line.strip()}"
            problems.append(
                Problem(where, "names no file in images/", "restore the image, or remove the line")
            )
        else:
            keys[key] = None
    if not keys and not problems:
        problems.append(Problem(str(path), "the list is empty", "write one key a line, or remove the file"))
    return tuple(keys), problems


def _match_key(line: str, images: Mapping[str, Path]) -> str | None:
    """The key that `a/b`, `a/b.jpg`, `images/a/b.jpg` or `a\\b` in a list means; None for no image.

    A key in quotes, and one that is there letter by letter, is meant before any of these.
    """
    for exact in (spelled_key(line), line):
        if exact in images:
            return exact
    name = PurePosixPath(line.strip().replace("\\", "/"))
    names = [name, name.relative_to("images")] if name.is_relative_to("images") else [name]
    for candidate in names:
        if not candidate.name:  # `/`, `.` or `images/`: a folder
            continue
        for key in (candidate.as_posix(), candidate.with_suffix("").as_posix()):
            if key in images and _suffix_agrees(key, candidate, images[key]):
                return key
    return None


def _suffix_agrees(key: str, named: PurePosixPath, path: Path) -> bool:
    """A line `a.v2` must not mean the image `a.png`; `a.jpg` may, as lists often keep an old suffix."""
    return named.as_posix() == key or named.suffix.lower() in image_suffixes() or named.suffix == path.suffix
