"""Files, folders and patterns -> the images that are meant, each with a name for its results."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import escape, glob, has_magic
from pathlib import Path

from recoseg.data.folder.listing import look_below
from recoseg.data.image_files import image_suffixes
from recoseg.errors import UserError
from recoseg.files import real


@dataclass(frozen=True)
class ImageFile:
    """An image, as it was given, and the name of its results: a path without a suffix below their folder."""

    path: Path
    name: Path


@dataclass(frozen=True)
class Source:
    """What one word stands for: files, all below `root`."""

    root: Path
    files: Sequence[Path]
    is_folder: bool = False


def find_images(words: Sequence[str | Path], *, out: Path) -> list[ImageFile]:
    """The images that the words name, each once, in the order of the words.

    Sub-folders are kept: names are relative to the folder that all the words have in common. Nothing may be
    taken from `out` or written between the images.
    """
    sources = [source_of(str(word)) for word in words]
    refuse_results_among_images(sources, out)
    files = each_once([located(file) for one in sources for file in one.files])
    shared = os.path.commonpath([located(one.root) for one in sources])
    return [
        ImageFile(as_given(file), name) for file, name in zip(files, names_of(files, shared), strict=True)
    ]


def source_of(word: str) -> Source:
    path = Path(word)
    if path.is_dir():
        files = look_below(path).images
        if not files:
            raise UserError(f"no images in {word}, nor in its sub-folders; files are told by their suffix")
        return Source(path, files, is_folder=True)
    if os.path.lexists(path):
        return Source(path.parent, [path])  # named itself: also without an image's suffix
    if has_magic(word):
        return pattern_source(word)
    raise UserError(f"there is no file or folder {word}")


def pattern_source(word: str) -> Source:
    """What the shell would make of it; folders among it are searched, files that are no images left out."""
    matches = sorted({Path(match) for match in matching(Path(word).parts) if not leads_back(Path(match))})
    files = [file for match in matches for file in ([match] if match.is_file() else look_below(match).images)]
    images = [file for file in files if file.suffix.lower() in image_suffixes()]
    if not images:
        raise UserError(f"no image matches {word}")
    plain = Path(*before_magic(Path(word).parts[:-1]))
    return Source(plain, images)


def matching(parts: Sequence[str]) -> Iterator[str]:
    """What glob finds; but `**` looks into every folder once, where glob goes round in loops of links."""
    if "**" not in parts:
        yield from glob(str(Path(*parts)))  # noqa: PTH207
        return
    place = parts.index("**")
    before, after = Path(*parts[:place]), parts[place + 1 :]
    for start in glob(str(before)):  # noqa: PTH207
        for folder in look_below(Path(start)).folders:
            yield from matching([*Path(escape(str(folder))).parts, *(after or ["*"])])


def leads_back(path: Path) -> bool:
    """Whether it is a link to a folder in which it lies."""
    return path.is_symlink() and real(path.parent).is_relative_to(real(path))


def before_magic(parts: Sequence[str]) -> Iterator[str]:
    for part in parts:
        if has_magic(part):
            return
        yield part


def refuse_results_among_images(sources: Sequence[Source], out: Path) -> None:
    target = real(out)
    for source in sources:
        if source.is_folder and target.is_relative_to(real(source.root)):
            raise UserError(
                f"the output folder {out} is inside the input folder {source.root}, where results would be "
                "taken for images the next time: choose a folder outside it with -o"
            )
        for file in source.files:
            if real(file).is_relative_to(target):
                raise UserError(
                    f"the image {file} is inside the output folder {out}: choose another folder with -o"
                )


def names_of(files: Sequence[Path], shared: str) -> list[Path]:
    """Without the suffix, unless another image would have the same name then."""
    stems, whole = Counter(file.with_suffix("") for file in files), set(files)
    return [
        (
            file if stems[file.with_suffix("")] > 1 or file.with_suffix("") in whole else file.with_suffix("")
        ).relative_to(shared)
        for file in files
    ]


def each_once(files: Sequence[Path]) -> list[Path]:
    """Files that several links to their folder lead to under one name: that without links, or the first."""
    places = {folder: real(folder) for folder in {file.parent for file in files}}
    names: dict[Path, dict[Path, None]] = {}
    for file in files:
        names.setdefault(places[file.parent] / file.name, {})[file] = None
    return [place if place in found else next(iter(found)) for place, found in names.items()]


def located(path: Path) -> Path:
    """Absolute, with links as they are: their names are the ones that people know."""
    return Path(os.path.normpath(path.absolute()))


def as_given(file: Path) -> Path:
    """Short, for messages: relative to the current folder where it lies below it."""
    here = Path.cwd()
    return file.relative_to(here) if file.is_relative_to(here) else file
