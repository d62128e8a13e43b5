"""Where the images lie that a labelling tool names, often by other paths than they have here."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from recoseg.data.folder.listing import walk_folder
from recoseg.text import is_text

_NOT_THERE = "images that are not on disk: left out"
_SEVERAL = "images whose name several files have: left out"


class PhotoFinder:
    """Knows the images in and below `folder`; `masks` are files and folders of labels, which are none."""

    def __init__(self, folder: Path, *, masks: Sequence[Path] = ()) -> None:
        left_out = set(masks)
        images = walk_folder(folder).images
        self.photos = [
            path for path in images if path not in left_out and not left_out.intersection(path.parents)
        ]
        self.photos = [path for path in self.photos if is_text(str(path))]
        self._parts = {path: path.relative_to(folder).parts for path in self.photos}
        self._by_name: dict[str, list[Path]] = {}
        self._by_stem: dict[str, list[Path]] = {}
        for path in self.photos:
            self._by_name.setdefault(path.name, []).append(path)
            self._by_stem.setdefault(path.stem, []).append(path)

    def find(self, file: str) -> Path | str:
        """The file, or why there is none: of those of that name, the one whose folders agree most.

        A name without a suffix, or with another one than the file here has, counts if no other does.
        """
        name = PurePosixPath(posixpath.normpath(file.replace("\\", "/")))
        found = (
            self._by_name.get(name.name) or self._by_stem.get(name.name) or self._by_stem.get(name.stem) or []
        )
        # images/a/x.jpg and images/b/a/x.jpg agree as well with a/x.jpg, which is the one that lies less deep
        agreeing = [
            (_num_equal(self._parts[path][:-1], name.parts[:-1]), -len(self._parts[path])) for path in found
        ]
        best = [path for path, score in zip(found, agreeing, strict=True) if score == max(agreeing)]
        if not best:
            return _NOT_THERE
        return best[0] if len(best) == 1 else _SEVERAL


def _num_equal(one: Sequence[str], other: Sequence[str]) -> int:
    """How many of the last parts are the same."""
    count = 0
    for mine, theirs in zip(reversed(one), reversed(other), strict=False):
        if mine != theirs:
            break
        count += 1
    return count
