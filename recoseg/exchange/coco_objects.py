"""COCO's objects: polygons, run lengths, keypoints, or a box alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from recoseg.exchange.annotation import Drawable, Polygons, RunLengths, Shape, Strokes
from recoseg.exchange.parsing import (
    NO_CLASS,
    ONLY_BOXES,
    WRONG,
    box_polygon,
    number_of,
    polygons_of,
    ring_of,
    size_of,
    void,
    whole_number,
)
from recoseg.exchange.run_lengths import counts_from

Annotation = Mapping[str, Any]

_VISIBLE = 2  # of a keypoint: 1 is hidden by something, 0 was not labelled


def size_of_masks(objects: Sequence[Annotation]) -> tuple[int, int] | None:
    """(height, width) of an image that is listed without: run lengths tell."""
    masks = (one.get("segmentation") for one in objects)
    size = next((mask.get("size") for mask in masks if isinstance(mask, dict)), None)
    try:
        return size_of(*size) if size else None
    except WRONG:
        return None


def box_of(annotation: Annotation) -> Polygons:
    left, top, width, height = map(number_of, annotation["bbox"])
    return box_polygon(left, top, left + width, top + height)


def read_shape(
    annotation: Annotation, size: tuple[int, int] | None, names: Mapping[int, str], notes: Counter[str]
) -> Shape | None:
    """The object in an image of this size, if it has pixels."""
    form: Drawable | None = _keypoints(annotation.get("keypoints") or ())
    if annotation.get("segmentation"):
        form = _outline(annotation["segmentation"], size, notes)
        if form is None:
            return None
    elif form is None and "category_id" not in annotation:
        notes["annotations without a category, such as captions: left out"] += 1
        return None
    elif form is None:
        box = box_of(annotation)
        notes[ONLY_BOXES] += 1
        return void(box)
    name = names.get(annotation.get("category_id", ""))
    if name is None:
        notes[NO_CLASS] += 1
        return void(form)
    return Shape(name, form, crowd=bool(annotation.get("iscrowd")))


def _outline(segmentation: Any, size: tuple[int, int] | None, notes: Counter[str]) -> Drawable | None:
    if not isinstance(segmentation, dict):
        return polygons_of(segmentation, notes)
    height, width = (whole_number(side) for side in segmentation["size"])
    if size is not None and size != (height, width):
        raise ValueError("a mask of another size than its image")
    counts = segmentation["counts"]
    packed = counts if isinstance(counts, str) else counts_from(counts)
    return RunLengths(packed, height, width, by_column=True)


def _keypoints(points: Any) -> Strokes | None:
    found = np.asarray(points, dtype=np.float64).reshape(-1, 3)
    visible = found[found[:, 2] == _VISIBLE, :2]
    return Strokes(tuple(ring_of(point) for point in visible)) if len(visible) else None
