"""YOLO: data.yaml, and labels/NAME.txt for images/NAME.jpg, a class and corners in shares per line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from recoseg.data.folder.listing import walk_folder
from recoseg.data.problem import FileError
from recoseg.errors import UserError
from recoseg.label_formats import annotation, parsing
from recoseg.types import IGNORE

_LINE = re.compile(rb"(\xef\xbb\xbf)?\s*\d+(\s+-?[\d.]+(e-?\d+)?){4,}\s*")
_YAML = (".yaml", ".yml")


def recognises(source: Path) -> bool:
    return any(map(_has_names, _yaml_files(source))) or any(
        _LINE.fullmatch(parsing.read_start(path).partition(b"\n")[0])
        for path in parsing.files_with(".txt", source)[: parsing.NUM_EXAMPLES]
    )


def _yaml_files(source: Path) -> list[Path]:
    files = [source] if source.is_file() else sorted(filter(Path.is_file, source.glob("*.y*ml")))
    return [path for path in files if path.suffix.lower() in _YAML]


def _has_names(path: Path) -> bool:
    try:
        return _read_names(path) is not None
    except (FileError, OSError):
        return False


def _read_names(path: Path) -> dict[int, str] | None:
    """Return number -> name from a list or an object; None for a file without `names`."""
    content: Any = parsing.read_yaml(path)
    if not isinstance(content, dict) or "names" not in content:
        return None
    names = content["names"]
    with parsing.as_written_by("YOLO", path):
        if isinstance(names, str):
            raise ValueError("names that are no list")
        pairs = names.items() if isinstance(names, dict) else enumerate(names)
        return {int(number): parsing.name_of(name) for number, name in pairs}


def read(source: Path) -> annotation.LabelSource:
    """Read the folder of data.yaml, or of images/ and labels/."""
    home = source if source.is_dir() else source.parent
    names = _find_names(source, home)
    images = list(_read_images(home, names))
    if not images:
        raise UserError(f"{home} holds no images: YOLO has images/ beside labels/")
    if not names:
        used = {shape.name for image in images for shape in image.shapes if not shape.is_void}
        highest = max((int(name.removeprefix("class_")) for name in used), default=0)
        names = {number: f"class_{number}" for number in range(highest + 1)}
    return annotation.LabelSource(source, images, dict.fromkeys(names[number] for number in sorted(names)))


def _find_names(source: Path, home: Path) -> dict[int, str]:
    """Return {} without a file of names. A damaged one is an error, so that classes keep their names."""
    for path in _yaml_files(source if source.suffix.lower() in _YAML else home):
        names = _read_names(path)
        if names is not None:
            return names
    for path in (home / "classes.txt", home / "obj.names"):
        if path.is_file():
            with parsing.as_written_by("YOLO", path):
                return dict(enumerate(map(parsing.name_of, parsing.read_lines(path))))
    return {}


def _read_images(home: Path, names: Mapping[int, str]) -> Iterator[annotation.AnnotatedImage]:
    labels = {path.relative_to(home).with_suffix(""): path for path in parsing.files_with(".txt", home)}
    for path in walk_folder(home).images:
        place = path.relative_to(home)
        label = next((labels[key] for key in _label_keys(place) if key in labels), None)
        notes: Counter[str] = Counter()
        lines = map(str.split, parsing.read_lines(label) if label else ())
        shapes = annotation.read_objects(lines, lambda words, own: _read_shape(words, names, own), notes)
        subset = parsing.subset_in(place.parent.as_posix())
        yield annotation.AnnotatedImage(
            place.as_posix(),
            shapes=shapes,
            relative=True,
            subset=subset,
            listed=label is not None,
            notes=notes,
        )


def _label_keys(place: Path) -> Iterator[Path]:
    """Yield where its label may be: with `labels` for the last `images` of the path, or next to the image."""
    parts = place.with_suffix("").parts
    if "images" in parts[:-1]:
        last = len(parts) - 2 - parts[-2::-1].index("images")
        yield Path(*parts[:last], "labels", *parts[last + 1 :])
    yield Path(*parts)


def _read_shape(words: list[str], names: Mapping[int, str], notes: Counter[str]) -> annotation.Shape | None:
    number = int(words[0])
    if number < 0:
        raise ValueError("a class below 0")
    points = parsing.ring_of(words[1:])
    if len(points) == 2:  # the centre and the size of a box
        centre, half = points[0], points[1] / 2
        return annotation.void(parsing.box_of(*(centre - half), *(centre + half)), notes, annotation.ONLY_BOX)
    form = parsing.polygons_of([points], notes)
    # Numbers beyond all classes are cut, so that nothing lists those before them.
    name = names.get(number) if names else f"class_{min(number, IGNORE)}"
    if form is None:
        return None
    return (
        annotation.Shape(name, form)
        if name is not None
        else annotation.void(form, notes, annotation.NO_CLASS)
    )
