"""LabelMe: a JSON beside each image, with polygons, rectangles, circles, lines, points and masks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from recoseg.errors import UserError
from recoseg.exchange.annotation import AnnotatedImage, Bitmap, Form, LabelSource, Polygons, Strokes
from recoseg.exchange.rasterise import Ring, box, ellipse
from recoseg.exchange.reading import (
    as_written_by,
    files_with,
    first_with,
    is_json_of,
    layered_shapes,
    polygons_of,
    read_json,
    ring_of,
    size_of,
    subset_in,
)


def recognises(source: Path) -> bool:
    return any(_is_labelme(path) for path in first_with(".json", source))


def _is_labelme(path: Path) -> bool:
    return is_json_of(path, "shapes", "imagePath")


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
    names = sorted({shape.name for image in images for shape in image.shapes})
    notes = {"JSON files without shapes: not read": others} if others else {}
    return LabelSource(home, dict.fromkeys(names), images, notes=notes)


def _image(path: Path, content: Mapping[str, Any], home: Path) -> AnnotatedImage:
    """Its image is named from where the JSON lies, perhaps in the way of Windows."""
    notes: Counter[str] = Counter()
    shapes = layered_shapes(content["shapes"], "label", _form, notes)
    place = path.parent.relative_to(home).as_posix()
    name = str(content["imagePath"]).replace("\\", "/")
    size = size_of(content.get("imageHeight"), content.get("imageWidth"))
    return AnnotatedImage(f"{place}/{name}", size, shapes, subset=subset_in(place), notes=notes)


def _form(shape: Mapping[str, Any], notes: Counter[str]) -> Form | None:
    kind, points = shape.get("shape_type") or "polygon", ring_of(shape["points"])
    if kind == "mask":
        left, top = np.floor(points.min(0)).astype(int).tolist()
        return Bitmap(str(shape["mask"]), top, left)
    if kind in ("polygon", "oriented_rectangle"):
        return polygons_of([[points]], notes)
    if kind in ("rectangle", "circle"):
        return Polygons(((_round_or_square(kind, points),),))
    if kind in ("line", "linestrip"):
        return Strokes((points,))
    if kind in ("point", "points"):
        return Strokes(tuple(point[None] for point in points))
    notes[f"shapes of the type {kind!r}, which has no pixels: left out"] += 1
    return None


def _round_or_square(kind: str, points: Ring) -> Ring:
    """From two corners, or from the centre and a point of the circle."""
    one, other = points
    if kind == "rectangle":
        return box(*np.minimum(one, other), *np.maximum(one, other))
    radius = float(np.hypot(*(other - one)))
    return ellipse(float(one[0]), float(one[1]), radius, radius)
