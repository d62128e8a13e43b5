"""YOLO polygons: data.yaml, and labels/NAME.txt for images/NAME.jpg, a class and corners in shares a line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from recoseg.data.folder.listing import walk_folder
from recoseg.data.problem import FileError
from recoseg.errors import UserError
from recoseg.exchange.annotation import AnnotatedImage, LabelSource, Shape
from recoseg.exchange.reading import (
    NOT_UNDERSTOOD,
    ONLY_BOXES,
    WRONG,
    as_written_by,
    files_with,
    first_with,
    polygons_of,
    ring_of,
    subset_in,
)
from recoseg.files import regular

_LINE = re.compile(rb"\s*\d+(\s+-?[\d.]+(e-?\d+)?){4,}\s*")
_BOX_NUMBERS = 4
_NAMES = ("classes.txt", "obj.names")


def recognises(source: Path) -> bool:
    if source.is_file():
        return _is_label(source) or _names_of_yaml(source) is not None
    has_names = any(_names_of_yaml(path) is not None for path in _yaml_files(source))
    return has_names or any(_is_label(path) for path in first_with(".txt", source))


def _yaml_files(source: Path) -> list[Path]:
    return sorted([*source.glob("*.yaml"), *source.glob("*.yml")])


def _is_label(path: Path) -> bool:
    """Whether the first line is a class and coordinates."""
    if path.suffix.lower() != ".txt":
        return False
    try:
        with regular(path).open("rb") as file:
            return _LINE.fullmatch(file.readline(100_000)) is not None
    except OSError:
        return False


def _names_of_yaml(path: Path) -> dict[int, str] | None:
    """number -> name, if the file has `names`: a list, or an object by number."""
    if path.suffix.lower() not in (".yaml", ".yml"):
        return None
    try:
        content = yaml.safe_load(regular(path).read_text(encoding="utf-8"))
        names: Any = content["names"]
        pairs = names.items() if isinstance(names, dict) else enumerate(names)
        return {int(number): str(name).strip() for number, name in pairs}
    except (*WRONG, OSError, yaml.YAMLError):
        return None


def read(source: Path) -> LabelSource:
    """The folder of data.yaml, or of images/ and labels/."""
    home = source if source.is_dir() else source.parent
    names = _names(source, home)
    images = list(_images(home, names))
    if not images:
        raise UserError(f"{home} holds no images: YOLO has images/ beside labels/")
    known = names or {number: f"class_{number}" for number in range(_most(images) + 1)}
    notes: Counter[str] = Counter()
    for name, count in Counter(known.values()).items():
        if count > 1:
            notes[f"classes that are called {name!r} again: the same class"] += count - 1
    return LabelSource(home, dict.fromkeys(known[number] for number in sorted(known)), images, notes=notes)


def _names(source: Path, home: Path) -> dict[int, str]:
    """{} if no file tells."""
    for path in [source] if source.is_file() else _yaml_files(home):
        names = _names_of_yaml(path)
        if names is not None:
            return names
    for path in (home / name for name in _NAMES):
        if path.is_file():
            lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
            return dict(enumerate(line for line in lines if line))
    return {}


def _most(images: list[AnnotatedImage]) -> int:
    numbers = [int(shape.name.removeprefix("class_")) for image in images for shape in image.shapes]
    return max(numbers, default=0)


def _images(home: Path, names: dict[int, str]) -> Iterator[AnnotatedImage]:
    texts = {path.relative_to(home).with_suffix("").as_posix(): path for path in files_with(".txt", home)}
    for path in walk_folder(home).images:
        place = path.relative_to(home)
        label = next((texts[key] for key in _label_keys(place) if key in texts), None)
        notes: Counter[str] = Counter()
        shapes = tuple(_shapes(label, names, notes)) if label else ()
        subset = subset_in(place.parent.as_posix())
        yield AnnotatedImage(
            place.as_posix(),
            None,
            shapes,
            relative=True,
            subset=subset,
            listed=label is not None,
            notes=notes,
        )


def _label_keys(place: Path) -> Iterator[str]:
    """Where its label would be: the last `images` on the way as `labels`, or beside it."""
    parts = list(place.with_suffix("").parts)
    if "images" in parts[:-1]:
        last = len(parts) - 2 - parts[-2::-1].index("images")
        yield Path(*parts[:last], "labels", *parts[last + 1 :]).as_posix()
    yield place.with_suffix("").as_posix()


def _shapes(path: Path, names: dict[int, str], notes: Counter[str]) -> Iterator[Shape]:
    with as_written_by("YOLO", path):
        try:
            lines = regular(path).read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            raise FileError(path, "not UTF-8 text", "export it again") from None
    for layer, line in enumerate(lines):
        words = line.split()
        if not words:
            continue
        try:
            number, points = int(words[0]), np.array(words[1:], dtype=np.float64)
            if number < 0 or len(points) % 2:
                raise ValueError("no class and pairs")
            if names and number not in names:
                notes["objects of a class that has no name: left out"] += 1
            elif len(points) == _BOX_NUMBERS:
                notes[ONLY_BOXES] += 1
            else:
                form = polygons_of([[ring_of(points)]], notes)
                if form is not None:
                    yield Shape(names.get(number, f"class_{number}"), form, layer=layer)
        except WRONG:
            notes[NOT_UNDERSTOOD] += 1
