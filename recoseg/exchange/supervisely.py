"""Supervisely: meta.json, and ann/ beside img/ in each dataset; bitmaps, polygons, lines and points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from recoseg.colours import Colour
from recoseg.errors import UserError
from recoseg.exchange.annotation import AnnotatedImage, Bitmap, Form, LabelSource, Polygons, Strokes
from recoseg.exchange.rasterise import box
from recoseg.exchange.reading import (
    as_written_by,
    colour_of_text,
    files_with,
    first_with,
    is_json_of,
    layered_shapes,
    polygons_of,
    read_json,
    ring_of,
    size_of,
    subset_in,
    whole_number,
)


def recognises(source: Path) -> bool:
    """A project's folder, or a file of one."""
    if source.is_file():
        return is_json_of(source, "classes", "tags") or is_json_of(source, "objects", "size")
    return any(is_json_of(path, "classes") for path in _meta_files(source)) and any(
        is_json_of(path, "objects", "size")
        for path in first_with(".json", source)
        if path.parent.name == "ann"
    )


def _meta_files(source: Path) -> list[Path]:
    return [path for path in (source / "meta.json", *sorted(source.glob("*/meta.json"))) if path.is_file()]


def read(source: Path) -> LabelSource:
    meta = _meta_files(source)
    if not meta:
        raise UserError(f"{source} holds no meta.json of Supervisely: give the folder of the project")
    classes: dict[str, Colour | None] = {}
    for path in meta:
        with as_written_by("Supervisely", path):
            for one in read_json(path)["classes"]:
                classes[str(one["title"]).strip()] = colour_of_text(one.get("color"))
    images = []
    for path in files_with(".json", source):
        if path.parent.name == "ann":
            with as_written_by("Supervisely", path):
                images.append(_image(path, read_json(path), source))
    if not images:
        raise UserError(f"{source} has no annotations: it should hold DATASET/ann and DATASET/img")
    for image in images:
        classes |= {shape.name: None for shape in image.shapes if shape.name not in classes}
    masks = [
        path for name in ("masks_machine", "masks_human", "masks_instances") for path in source.rglob(name)
    ]
    return LabelSource(source, classes, images, masks=masks)


def _image(path: Path, content: Mapping[str, Any], home: Path) -> AnnotatedImage:
    """ann/NAME.jpg.json is of img/NAME.jpg; older exports leave the suffix out."""
    notes: Counter[str] = Counter()
    shapes = layered_shapes(content["objects"], "classTitle", _form, notes)
    dataset = path.parent.parent.relative_to(home).as_posix()
    size = size_of(content["size"]["height"], content["size"]["width"])
    return AnnotatedImage(f"{dataset}/img/{path.stem}", size, shapes, subset=subset_in(dataset), notes=notes)


def _form(thing: Mapping[str, Any], notes: Counter[str]) -> Form | None:
    kind = thing.get("geometryType") or ("bitmap" if thing.get("bitmap") else "polygon")
    if kind in ("bitmap", "alpha_mask"):
        left, top = (whole_number(side) for side in thing["bitmap"]["origin"])
        return Bitmap(str(thing["bitmap"]["data"]), top, left, zipped=True)
    if kind not in ("polygon", "rectangle", "line", "polyline", "point"):
        notes[f"shapes of the type {kind!r}, which has no pixels: left out"] += 1
        return None
    outer = ring_of(thing["points"]["exterior"])
    if kind == "polygon":
        return polygons_of([[outer, *map(ring_of, thing["points"].get("interior") or ())]], notes)
    if kind == "rectangle":  # both corners are pixels of it
        return Polygons(((box(*outer.min(0), *(outer.max(0) + 1)),),))
    return Strokes((outer[:1],) if kind == "point" else (np.asarray(outer),))
