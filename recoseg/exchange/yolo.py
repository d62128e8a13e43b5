"""YOLO polygons: data.yaml, and labels/NAME.txt for images/NAME.jpg, a class and corners in shares a line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from recoseg.data.folder.listing import walk_folder
from recoseg.data.problem import FileError
from recoseg.errors import UserError
from recoseg.exchange.annotation import AnnotatedImage, LabelSource, Shape
from recoseg.exchange.intake import any_file, files_with, read_lines, read_yaml
from recoseg.exchange.parsing import (
    NO_CLASS,
    ONLY_BOXES,
    as_written_by,
    box_polygon,
    name_of,
    polygons_of,
    read_objects,
    ring_of,
    subset_in,
    void,
)
from recoseg.files import regular
from recoseg.types import IGNORE

_LINE = re.compile(rb"(\xef\xbb\xbf)?\s*\d+(\s+-?[\d.]+(e-?\d+)?){4,}\s*")
_YAML = (".yaml", ".yml")
_NAMES = ("classes.txt", "obj.names")


def recognises(source: Path) -> bool:
    if source.is_file():
        return _is_label(source) or _has_names(source)
    return any(map(_has_names, _yaml_files(source))) or any_file(".txt", source, _is_label)


def _is_label(path: Path) -> bool:
    """Whether the first line is a class and coordinates."""
    if path.suffix.lower() != ".txt":
        return False
    try:
        with regular(path).open("rb") as file:
            return _LINE.fullmatch(file.readline(100_000)) is not None
    except OSError:
        return False


def _has_names(path: Path) -> bool:
    try:
        return path.suffix.lower() in _YAML and _names_of_yaml(path) is not None
    except (FileError, OSError):
        return False


def _yaml_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.y*ml") if path.suffix in _YAML and path.is_file())


def _names_of_yaml(path: Path) -> dict[int, str] | None:
    """number -> name; None for a file without `names`. These are a list, or an object by number."""
    content: Any = read_yaml(path)
    if not isinstance(content, dict) or "names" not in content:
        return None
    names = content["names"]
    with as_written_by("YOLO", path):
        if isinstance(names, str):
            raise ValueError("names that are no list")
        pairs = names.items() if isinstance(names, dict) else enumerate(names)
        return {int(number): name_of(name) for number, name in pairs}


def read(source: Path) -> LabelSource:
    """The folder of data.yaml, or of images/ and labels/."""
    home = source if source.is_dir() else source.parent
    names = _names(source, home)
    images = list(_images(home, names))
    if not images:
        raise UserError(f"{home} holds no images: YOLO has images/ beside labels/")
    known = names or _numbered(images)
    notes: Counter[str] = Counter()
    for name, count in Counter(known.values()).items():
        if count > 1:
            notes[f"classes that are called {name!r} again: the same class"] += count - 1
    return LabelSource(home, dict.fromkeys(known[number] for number in sorted(known)), images, notes=notes)


def _names(source: Path, home: Path) -> dict[int, str]:
    """{} if no file tells. A file that cannot be read is an error: without it classes lose their names."""
    for path in [source] if source.suffix.lower() in _YAML else _yaml_files(home):
        names = _names_of_yaml(path)
        if names is not None:
            return names
    for path in (home / name for name in _NAMES):
        if path.is_file():
            with as_written_by("YOLO", path):
                return dict(enumerate(map(name_of, read_lines(path))))
    return {}


def _numbered(images: list[AnnotatedImage]) -> dict[int, str]:
    """Names by number, for classes that no file names."""
    used = {shape.name for image in images for shape in image.shapes if not shape.is_void}
    highest = max((int(name.removeprefix("class_")) for name in used), default=0)
    return {number: f"class_{number}" for number in range(highest + 1)}


def _images(home: Path, names: Mapping[int, str]) -> Iterator[AnnotatedImage]:
    texts = {path.relative_to(home).with_suffix("").as_posix(): path for path in files_with(".txt", home)}
    for path in walk_folder(home).images:
        place = path.relative_to(home)
        label = next((texts[key] for key in _label_keys(place) if key in texts), None)
        notes: Counter[str] = Counter()
        lines = map(str.split, read_lines(label) if label else ())
        shapes = read_objects(lines, lambda words, own: _shape(words, names, own), notes)
        file, subset, is_listed = place.as_posix(), subset_in(place.parent.as_posix()), label is not None
        yield AnnotatedImage(file, shapes=shapes, relative=True, subset=subset, listed=is_listed, notes=notes)


def _label_keys(place: Path) -> Iterator[str]:
    """Where its label would be: the last `images` on the way as `labels`, or beside it."""
    parts = list(place.with_suffix("").parts)
    if "images" in parts[:-1]:
        last = len(parts) - 2 - parts[-2::-1].index("images")
        yield Path(*parts[:last], "labels", *parts[last + 1 :]).as_posix()
    yield place.with_suffix("").as_posix()


def _shape(words: list[str], names: Mapping[int, str], notes: Counter[str]) -> Shape | None:
    number = int(words[0])
    if number < 0:
        raise ValueError("a class below 0")
    points = ring_of(words[1:])
    if len(points) == 2:  # the centre and the size of a box
        centre, half = points[0], points[1] / 2
        notes[ONLY_BOXES] += 1
        return void(box_polygon(*(centre - half), *(centre + half)))
    form = polygons_of([points], notes)
    if form is None:
        return None
    if names and number not in names:
        notes[NO_CLASS] += 1
        return void(form)
    return Shape(names.get(number, f"class_{min(number, IGNORE)}"), form)  # there may not be as many
