"""LabelMe: a JSON beside each image, with polygons, rectangles, circles, lines, points and masks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from recoseg.errors import UserError
from recoseg.exchange.annotation import (
    AnnotatedImage,
    Bitmap,
    Drawable,
    LabelSource,
    Polygons,
    Shape,
    Strokes,
    classes_in,
)
from recoseg.exchange.intake import any_file, files_with, is_json_with, read_json
from recoseg.exchange.parsing import (
    UnknownTypeError,
    as_written_by,
    box_polygon,
    file_of,
    name_of,
    polygons_of,
    read_objects,
    ring_of,
    size_of,
    subset_in,
)
from recoseg.exchange.rasterise import ellipse


def recognises(source: Path) -> bool:
    return any_file(".json", source, _is_labelme)


def _is_labelme(path: Path) -> bool:
    return is_json_with(path, "shapes", "imagePath")


def read(source: Path) -> LabelSource:
    home = source if source.is_dir() else source.parent
    images, others = [], 0
    for path in files_with(".json", source):
        content = read_json(path)  # the image that it may hold is gone with the next one
        if not isinstance(content, dict) or "shapes" not in content:
            others += 1
            continue
        with as_written_by("LabelMe", path):
            images.append(_image(path, content, home))
    if not images:
        raise UserError(f"{source} holds no LabelMe file: a JSON with shapes and imagePath")
    notes = {"JSON files without shapes: not read": others} if others else {}
    return LabelSource(home, classes_in(images), images, notes=notes)


def _image(path: Path, content: Mapping[str, Any], home: Path) -> AnnotatedImage:
    """Its image is named from where the JSON lies, perhaps in the way of Windows."""
    notes: Counter[str] = Counter()
    shapes = read_objects(content["shapes"], _shape, notes, box_of=_mask_box)
    place = path.parent.relative_to(home).as_posix()
    name = file_of(content["imagePath"]).replace("\\", "/")
    size = size_of(content.get("imageHeight"), content.get("imageWidth"))
    return AnnotatedImage(f"{place}/{name}", size, shapes, subset=subset_in(place), notes=notes)


def _shape(shape: Mapping[str, Any], notes: Counter[str]) -> Shape | None:
    form = _form(shape, notes)
    return None if form is None else Shape(name_of(shape["label"]), form)


def _form(shape: Mapping[str, Any], notes: Counter[str]) -> Drawable | None:
    kind, points = shape.get("shape_type") or "polygon", ring_of(shape["points"])
    if kind == "mask":
        left, top = np.floor(points.min(0)).astype(int).tolist()
        return Bitmap(file_of(shape["mask"]), top, left)
    if kind in ("polygon", "oriented_rectangle"):
        return polygons_of([points], notes)
    if kind == "rectangle":
        first, second = points
        return box_polygon(*np.minimum(first, second), *np.maximum(first, second))
    if kind == "circle":
        centre, edge = points
        radius = float(np.hypot(*(edge - centre)))
        return Polygons((ellipse(float(centre[0]), float(centre[1]), radius, radius),))
    if kind in ("line", "linestrip"):
        return Strokes((points,))
    if kind in ("point", "points"):
        return Strokes(tuple(point[None] for point in points))
    raise UnknownTypeError(kind)


def _mask_box(shape: Mapping[str, Any]) -> Polygons | None:
    """The corners of a mask are pixels of it."""
    if shape.get("shape_type") != "mask":
        return None
    points = ring_of(shape["points"])
    return box_polygon(*points.min(0), *(points.max(0) + 1))
