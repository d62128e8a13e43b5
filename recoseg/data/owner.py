"""Finding the files of a published dataset in its owner's layout, with errors that say where to get them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from recoseg.data.list_files import numbered_lines
from recoseg.data.problem import FileError
from recoseg.errors import UserError


@dataclass(frozen=True)
class Owner:
    """Who publishes a dataset: `dataset` is its name, `get` says which files to get and from where."""

    dataset: str
    get: str

    @property
    def restore(self) -> str:
        """What to do about a label that holds what no label of this dataset does."""
        return f"no label of {self.dataset} holds that: restore the file from its archive"

    def folder(self, root: Path, *places: str) -> Path:
        """The first of `places` below `root` that is a folder."""
        found = [root / place for place in places if (root / place).is_dir()]
        if not found:
            raise self.missing(root, " or ".join(f"{place}/" for place in places))
        return found[0]

    def file(self, root: Path, *places: str) -> Path:
        """The first of `places` below `root` that is a file."""
        found = [root / place for place in places if (root / place).is_file()]
        if not found:
            raise self.missing(root, " or ".join(places))
        return found[0]

    def missing(self, root: Path, what: str) -> UserError:
        """The error for `what`, which was looked for in `root`."""
        trouble = f"has no {what}" if root.is_dir() else "is no folder"
        remedy = f"get {self.get}; docs/datasets.md shows where the files go"
        return UserError(f"{self.dataset}: {root} {trouble}; {remedy}")

    def present(self, keys: Sequence[str], images: Collection[str], *, named_by: Path) -> list[str]:
        """The keys, if each is one of `images`; `named_by` is the list or folder that names them."""
        gone = [key for key in keys if key not in images]
        if gone:
            what = f"{len(gone)} of the {len(keys)} images that it names are missing, such as {gone[0]}"
            raise FileError(named_by, what, f"restore them, or get {self.get} again")
        return list(keys)


def read_keys(path: Path) -> list[str]:
    """The keys of a list file in its order, each once: a key a line, or "image label" pairs of paths."""
    names = (line.split()[0].replace("\\", "/") for _, line in numbered_lines(path))
    return list(dict.fromkeys(PurePosixPath(name).stem for name in names))


def by_stem(folder: Path, suffix: str) -> dict[str, Path]:
    """The files of a folder with that suffix, by stem and sorted; {} if there is no such folder."""
    if not folder.is_dir():
        return {}
    found = (path for path in folder.iterdir() if path.suffix.lower() == suffix)
    return {path.stem: path for path in sorted(found) if not path.name.startswith(".")}
