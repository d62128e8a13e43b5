"""Where the images lie that a labelling tool names, often by other paths than they have here."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from recoseg.data.folder.listing import walk_folder
from recoseg.text import is_text

_NOT_THERE = "images that are not on disk: left out"
_SEVERAL = "images whose name several files have: left out"

_Parts = tuple[str, ...]


class PhotoFinder:
    """Knows the images in and below `folder`; `masks` are files and folders of labels, which are none."""

    def __init__(self, folder: Path, *, masks: Sequence[Path] = ()) -> None:
        left_out = set(masks)
        self.photos = [
            path
            for path in walk_folder(folder).images
            if path not in left_out and left_out.isdisjoint(path.parents) and is_text(str(path))
        ]
        self._by_name: dict[_Parts, list[Path]] = {}
        self._by_stem: dict[_Parts, list[Path]] = {}
        parts = [path.relative_to(folder).parts for path in self.photos]
        self._deepest = max(map(len, parts), default=0)
        # images/a/x.jpg and images/b/a/x.jpg agree as well with a/x.jpg, which is the one that lies less deep
        for path, place in sorted(zip(self.photos, parts, strict=True), key=lambda one: len(one[1])):
            _add(self._by_name, path, place)
            _add(self._by_stem, path, (*place[:-1], path.stem))

    def find(self, file: str) -> Path | str:
        """The file, or why there is none: of those of that name, the one whose folders agree most.

        A name without a suffix, or with another one than the file here has, counts if no other does.
        """
        name = PurePosixPath(posixpath.normpath(file.replace("\\", "/")))
        for known, last in (
            (self._by_name, name.name),
            (self._by_stem, name.name),
            (self._by_stem, name.stem),
        ):
            if (last,) in known:
                place = (*name.parts[-self._deepest : -1], last)
                agreeing = next(known[place[start:]] for start in range(len(place)) if place[start:] in known)
                return agreeing[0] if len(agreeing) == 1 else _SEVERAL
        return _NOT_THERE


def _add(known: dict[_Parts, list[Path]], path: Path, place: _Parts) -> None:
    """Note the path under each end of its place, beside at most one other of the same depth."""
    for start in range(len(place)):
        found = known.setdefault(place[start:], [])
        if not found or (len(found) == 1 and len(found[0].parts) == len(path.parts)):
            found.append(path)
