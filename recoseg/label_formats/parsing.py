"""Parsing: files and values of other tools enter here, within limits.

A damaged file, or one that breaks a limit, is a `FileError` of one line. A value that is not as documented
raises one of `annotation.WRONG`, so its object is void.
"""

from __future__ import annotations

import errno
import json
import lzma
import posixpath
import re
import shutil
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any
from xml.etree import ElementTree

import numpy as np
import yaml

from recoseg.colours import Colour
from recoseg.data.folder.listing import walk_folder
from recoseg.data.problem import FileError
from recoseg.errors import UserError
from recoseg.files import regular, remove_unfinished, whole_file
from recoseg.label_formats.annotation import WRONG, Polygons, Ring
from recoseg.text import is_text, shortened

# Files

MOST_BYTES = 2**31
"""Of a JSON, XML or text file: twice the largest COCO file that is published."""

MOST_YAML = 2**18
"""Bytes of a YAML file: names of 20,000 classes. Its parser is slow."""

NUM_EXAMPLES = 20
"""Files of a folder that are read to recognise its format."""


def files_with(suffix: str, source: Path) -> list[Path]:
    """Return `source`, if it is such a file, or those in and below it, sorted; without hidden ones."""
    if source.is_file():
        return [source] if source.suffix.lower() == suffix else []
    found = (path for path in source.rglob(f"*{suffix}") if path.is_file())
    return sorted(
        path for path in found if not any(part.startswith(".") for part in path.relative_to(source).parts)
    )


def json_files(
    source: Path, matches: Callable[[Any], bool], notes: Counter[str], *, what: str
) -> Iterator[tuple[Path, Any]]:
    """Yield the JSON files of a format, with their content; an error if there is none."""
    files = files_with(".json", source)
    num_others = 0
    for path in files:
        content = read_json(path)
        if matches(content):
            yield path, content
        else:
            num_others += 1
    if num_others == len(files):
        raise UserError(f"{source} holds no {what}")
    if num_others:
        notes["JSON files of other kinds: not read"] += num_others


def read_text(path: Path, *, most: int = MOST_BYTES) -> str:
    """Read UTF-8 with or without its mark, or else Latin-1."""
    size = regular(path).stat().st_size
    if size > most:
        what = f"{size / 1e6:,.1f} MB, where {most / 1e6:,.1f} are the most"
        raise FileError(path, what, "divide it into smaller files")
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    if "\0" in text:
        raise FileError(path, "not a text in UTF-8", "save it as UTF-8")
    return text


def read_lines(path: Path) -> list[str]:
    """Return lines without outer spaces; empty ones are left out."""
    return [line.strip() for line in read_text(path).splitlines() if line.strip()]


def read_start(path: Path) -> bytes:
    """Return the first 64 kB of a file; nothing if it cannot be opened."""
    try:
        with regular(path).open("rb") as file:
            return file.read(2**16)
    except OSError:
        return b""


def read_json(path: Path) -> Any:
    """Return the value in the file. The last one is kept: a format is recognised before it is read."""
    status = regular(path).stat()
    return _read_json(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=1)
def _read_json(path: Path, time: int, size: int) -> Any:
    with _naming_damage(path, "JSON", ValueError, RecursionError):
        return json.loads(read_text(path))


def read_xml(path: Path) -> ElementTree.Element:
    """Return the root. A document type is refused: its entities can expand to gigabytes."""
    text = read_text(path)
    if "<!DOCTYPE" in text:
        raise FileError(path, "XML with its own document type", "export it again")
    with _naming_damage(path, "XML", ElementTree.ParseError, ValueError):
        return ElementTree.fromstring(text)


def read_yaml(path: Path) -> Any:
    """Return lists, dicts and texts: numbers stay texts, and an alias is the same object, never a copy."""
    with _naming_damage(path, "YAML", yaml.YAMLError, ValueError, TypeError, RecursionError):
        return yaml.load(read_text(path, most=MOST_YAML), yaml.BaseLoader)


@contextmanager
def _naming_damage(path: Path, kind: str, *errors: type[Exception]) -> Iterator[None]:
    try:
        yield
    except FileError:
        raise
    except errors as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
        reason = shortened(" ".join(reason.split()), 200)
        raise FileError(path, f"not {kind}, or cut short ({reason})", "export it again") from None


# Zips

MOST_FILES, MOST_UNPACKED, MOST_RATIO, SMALL = 2_000_000, 2**40, 200, 2**30
"""Of a zip: files, bytes in all, and bytes for each packed byte where they are more than `SMALL`.

Label images are packed to a hundredth, photos hardly at all.
"""

_NOT_A_ZIP = (
    zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, ValueError, struct.error, zlib.error,
    lzma.LZMAError, OverflowError,
)  # fmt: skip
"""Errors of a damaged zip; another is an OSError without a number, or of a place before its start."""


def unpack(archive: Path, folder: Path) -> Path:
    """Return `folder` with all that the archive holds. A restart keeps files that have their size."""
    try:
        with zipfile.ZipFile(regular(archive)) as content:
            entries = [entry for entry in content.infolist() if _stays_inside(entry)]
            _require_sane(archive, entries, folder)
            folder.mkdir(parents=True, exist_ok=True)
            remove_unfinished(folder)
            for entry in entries:
                target = folder / PurePosixPath(entry.filename)
                if target.is_file() and target.stat().st_size == entry.file_size:
                    continue
                target.parent.mkdir(parents=True, exist_ok=True)
                with (
                    whole_file(target) as temporary,
                    temporary.open("wb") as file,
                    content.open(entry) as source,
                ):
                    # zipfile never reads more bytes than the entry claims.
                    shutil.copyfileobj(source, file, 2**20)
                    if file.tell() != entry.file_size:
                        raise zipfile.BadZipFile(f"{entry.filename} is cut short")
    except (*_NOT_A_ZIP, OSError) as error:
        is_of_disk = isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)
        if isinstance(error, UserError) or is_of_disk:
            raise
        reason = shortened(" ".join(str(error).split())) or type(error).__name__
        raise FileError(archive, f"not a zip that can be read ({reason})", "download it again") from None
    return folder


def _stays_inside(entry: zipfile.ZipInfo) -> bool:
    """Whether a file is neither absolute, nor upwards, nor an addition of macOS."""
    path = PurePosixPath(entry.filename)
    leaves = path.is_absolute() or "\\" in entry.filename or not {"..", "__MACOSX"}.isdisjoint(path.parts)
    return not entry.is_dir() and not leaves


def _require_sane(archive: Path, entries: list[zipfile.ZipInfo], folder: Path) -> None:
    """A small file may claim to hold more than the disk."""
    size, packed = sum(entry.file_size for entry in entries), archive.stat().st_size
    place = next(parent for parent in (folder, *folder.absolute().parents) if parent.is_dir())
    free = shutil.disk_usage(place).free
    claim = f"{archive} of {packed / 1e6:.1f} MB unpacks to {len(entries):,} files, {size / 1e9:.1f} GB"
    if len(entries) > MOST_FILES or size > MOST_UNPACKED or (size > SMALL and size > MOST_RATIO * packed):
        raise UserError(f"{claim}, like a zip bomb: if you trust it, unpack it yourself and give the folder")
    if size > free:
        raise UserError(f"{claim}, but {place} has room for {free / 1e9:.1f} GB")


# Images


class PhotoFinder:
    """Finds images in and below `folder` by name; `masks` are files and folders that hold no images."""

    def __init__(self, folder: Path, *, masks: Sequence[Path] = ()) -> None:
        left_out = set(masks)
        self.photos = [
            path
            for path in walk_folder(folder).images
            if path not in left_out and left_out.isdisjoint(path.parents) and is_text(str(path))
        ]
        self._by_name: dict[tuple[str, ...], list[Path]] = {}
        self._by_stem: dict[tuple[str, ...], list[Path]] = {}
        places = {path: path.relative_to(folder).parts for path in self.photos}
        self._deepest = max(map(len, places.values()), default=0)
        # images/a/x.jpg and images/b/a/x.jpg both end in a/x.jpg: the one in fewer folders comes first.
        for path, place in sorted(places.items(), key=lambda one: len(one[1])):
            for known, last in ((self._by_name, path.name), (self._by_stem, path.stem)):
                for start in range(len(place)):
                    found = known.setdefault((*place[start:-1], last), [])
                    # Of several, two in equally many folders are enough to know.
                    if not found or (len(found) == 1 and len(found[0].parts) == len(path.parts)):
                        found.append(path)

    def find(self, file: str) -> Path | str:
        """Return the image with most folders of the name, or the reason why there is none.

        A name without a suffix, or with another suffix than the image, counts if no other does.
        """
        name = PurePosixPath(posixpath.normpath(file.replace("\\", "/")))
        for known, last in (
            (self._by_name, name.name),
            (self._by_stem, name.name),
            (self._by_stem, name.stem),
        ):
            if (last,) in known:
                place = (*name.parts[-self._deepest : -1], last)
                found = next(known[place[start:]] for start in range(len(place)) if place[start:] in known)
                return found[0] if len(found) == 1 else "images with several files of their name: left out"
        return "images that are not on disk: left out"


# Values

_FARTHEST = 1e9
"""Pixels from the image to a coordinate, at most."""
_LONGEST_NAME = 1000
_CORNERS = 128
"""Of a polygon in place of an ellipse: it lacks less than 0.1 % of the radius."""
_SUBSETS = {
    **{"train": "train", "training": "train", "test": "test"},
    **dict.fromkeys(("val", "valid", "validation"), "val"),
}


@contextmanager
def as_written_by(tool: str, path: Path) -> Iterator[None]:
    """Raise a FileError where a part is missing that the tool always writes."""
    try:
        yield
    except FileError:
        raise
    except WRONG as error:
        reason = shortened(" ".join(str(error).split()))
        what = f"no {reason} in it" if isinstance(error, KeyError) else reason
        raise FileError(path, f"not as {tool} writes it ({what})", f"export it again from {tool}") from None


def ring_of(points: Any) -> Ring:
    """Return (N, 2) from pairs, or from x, y, x, y; a ValueError where there are other things."""
    ring = np.asarray(points, dtype=np.float64).reshape(-1, 2)
    if not len(ring) or not (np.abs(ring) <= _FARTHEST).all():  # also catches NaN
        raise ValueError("coordinates that are no numbers, or beyond any image")
    return ring


def number_of(value: Any) -> float:
    """Return a number that is sane as a coordinate, a length or an angle."""
    return float(ring_of((value, 0))[0, 0])


def polygons_of(rings: Iterable[Any], notes: Counter[str]) -> Polygons | None:
    """Return the rings that have an area."""
    found = [ring_of(ring) for ring in rings]
    kept = tuple(ring for ring in found if len(ring) >= 3)
    if len(kept) < len(found):
        notes["polygons of fewer than three corners: left out"] += len(found) - len(kept)
    return Polygons(kept) if kept else None


def box_of(left: Any, top: Any, right: Any, bottom: Any) -> Polygons:
    left, top, right, bottom = ring_of((left, top, right, bottom)).ravel().tolist()
    return Polygons((np.array([(left, top), (right, top), (right, bottom), (left, bottom)]),))


def ellipse_of(x: float, y: float, across: float, down: float, degrees: float = 0.0) -> Polygons:
    """Return an ellipse around (x, y) with the radii `across` and `down`, turned clockwise."""
    angles = np.linspace(0, 2 * np.pi, _CORNERS, endpoint=False)
    ring = np.stack((x + across * np.cos(angles), y + down * np.sin(angles)), axis=1)
    return rotate(Polygons((ring,)), degrees, (x, y))


def rotate(polygon: Polygons, degrees: float, centre: tuple[float, float]) -> Polygons:
    """Rotate clockwise, as seen with y pointing down."""
    if not degrees:
        return polygon
    cos, sin = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    turn = np.array([[cos, sin], [-sin, cos]])
    return Polygons(tuple((ring - centre) @ turn + centre for ring in polygon.rings))


def whole_number(value: Any) -> int:
    """Return a number of JSON, where 640.0 may stand for 640; a ValueError for anything else."""
    number = int(value)
    if isinstance(value, bool) or number != float(value):
        raise ValueError("not a whole number")
    return number


def size_of(height: Any, width: Any) -> tuple[int, int] | None:
    """Return (height, width), or None where one is missing."""
    return (whole_number(height), whole_number(width)) if height and width else None


def name_of(value: Any) -> str:
    """Return the name of a class, on one line; it may be empty."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise ValueError("a name that is no text")
    name = " ".join(str(value).split())
    if not is_text(name) or len(name) > _LONGEST_NAME:
        raise ValueError("a name that is no text")
    return name


def file_of(value: Any) -> str:
    """Return the name of a file, unchanged."""
    if not isinstance(value, str) or not is_text(value):
        raise ValueError("the name of a file that is no text")
    return value


def colour_of(value: Any) -> Colour | None:
    """Return a colour from three numbers or #rrggbb; None for anything else."""
    try:
        red, green, blue = (
            bytes.fromhex(value.removeprefix("#")) if isinstance(value, str) else bytes(list(value))
        )
    except (TypeError, ValueError):
        return None
    return red, green, blue


def subset_in(name: str) -> str:
    """Return train, val or test if a word of the name means it: instances_val2017.json, valid/images."""
    words = re.findall(r"[a-z]+", name.lower())
    return next((_SUBSETS[word] for word in reversed(words) if word in _SUBSETS), "")
