"""LabelMe: a JSON per image, with polygons, rectangles, circles, lines, points and masks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from recoseg.label_formats import annotation, parsing


def matches(content: Any) -> bool:
    return isinstance(content, dict) and {"shapes", "imagePath"} <= content.keys()


def read(source: Path) -> annotation.LabelSource:
    """Read one file, or all of a folder."""
    images: list[annotation.AnnotatedImage] = []
    notes: Counter[str] = Counter()
    what = "LabelMe file: a JSON with shapes and imagePath"
    for path, content in parsing.json_files(source, matches, notes, what=what):
        with parsing.as_written_by("LabelMe", path):
            images.append(_read_image(path, content, source))
    return annotation.LabelSource(source, images, notes=notes)


def _read_image(path: Path, content: Mapping[str, Any], source: Path) -> annotation.AnnotatedImage:
    """The path of the image starts where the JSON is, and may be one of Windows."""
    notes: Counter[str] = Counter()
    shapes = annotation.read_objects(content["shapes"], _read_shape, notes, box=_read_mask_box)
    place = path.parent.relative_to(source).as_posix() if source.is_dir() else "."
    name = parsing.file_of(content["imagePath"]).replace("\\", "/")
    size = parsing.size_of(content.get("imageHeight"), content.get("imageWidth"))
    return annotation.AnnotatedImage(
        f"{place}/{name}", size, shapes, subset=parsing.subset_in(place), notes=notes
    )


def _read_shape(shape: Mapping[str, Any], notes: Counter[str]) -> annotation.Shape | None:
    form = _read_form(shape, notes)
    return None if form is None else annotation.Shape(parsing.name_of(shape["label"]), form)


def _read_form(shape: Mapping[str, Any], notes: Counter[str]) -> annotation.Form | None:
    points = parsing.ring_of(shape["points"])
    match shape.get("shape_type") or "polygon":
        case "polygon" | "oriented_rectangle":
            return parsing.polygons_of([points], notes)
        case "rectangle":
            first, second = points
            return parsing.box_of(*np.minimum(first, second), *np.maximum(first, second))
        case "circle":
            centre, edge = points
            radius = float(np.hypot(*(edge - centre)))
            return parsing.ellipse_of(float(centre[0]), float(centre[1]), radius, radius)
        case "line" | "linestrip":
            return annotation.Strokes((points,))
        case "point" | "points":
            return annotation.Strokes(tuple(point[None] for point in points))
        case "mask":
            left, top = np.floor(points.min(0)).astype(int).tolist()
            return annotation.Bitmap(parsing.file_of(shape["mask"]), top, left)
        case kind:
            raise annotation.UnknownTypeError(kind)


def _read_mask_box(shape: Mapping[str, Any]) -> annotation.Polygons | None:
    """The corners of a mask are pixels of it."""
    if shape.get("shape_type") != "mask":
        return None
    points = parsing.ring_of(shape["points"])
    return parsing.box_of(*points.min(0), *(points.max(0) + 1))
