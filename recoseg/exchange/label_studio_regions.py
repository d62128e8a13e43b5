"""Label Studio's regions: polygons, brushes, rectangles, ellipses, vectors and keypoints, in percent."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from recoseg.exchange.annotation import Brush, Drawable, Polygons, Shape, Strokes
from recoseg.exchange.parsing import NO_CLASS, name_of, number_of, polygons_of, ring_of, size_of, void
from recoseg.exchange.rasterise import box, ellipse, turned

_LABELS = re.compile(r"[a-z]*labels")
_OTHER_ANSWERS = ("choices", "textarea", "rating", "number")  # they say nothing of pixels


def label_field(value: Mapping[str, Any]) -> str | None:
    """brushlabels, polygonlabels, labels, ..."""
    return next((name for name in value if _LABELS.fullmatch(name)), None)


def read_shape(result: Mapping[str, Any], notes: Counter[str]) -> Shape | None:
    """All lengths are percent: of the width across, of the height down."""
    value = result["value"]
    field = label_field(value)
    if field is None and result.get("type") in _OTHER_ANSWERS:
        return None
    size = size_of(result.get("original_height"), result.get("original_width"))
    if size is None:
        raise ValueError("of no size")
    form = _form(value, *size, notes)
    if form is None:
        return None
    if field is None or not value[field]:
        notes[NO_CLASS] += 1
        return void(form)
    return Shape(name_of(value[field][0]), form)


def _form(value: Mapping[str, Any], height: int, width: int, notes: Counter[str]) -> Drawable | None:
    scale = np.array([width, height]) / 100
    if value.get("format") == "rle" or "rle" in value:
        return Brush(bytes(list(value["rle"])), height, width)  # of a number, `bytes` makes as many zeros
    if "points" in value:
        return polygons_of([ring_of(value["points"]) * scale], notes)
    if "vertices" in value:
        corners = ring_of([(one["x"], one["y"]) for one in value["vertices"]]) * scale
        return polygons_of([corners], notes) if value.get("closed") else Strokes((corners,))
    x, y = (ring_of((value["x"], value["y"])) * scale)[0]
    degrees = number_of(value.get("rotation") or 0)
    if "radiusX" in value:
        across, down = (ring_of((value["radiusX"], value["radiusY"])) * scale)[0]
        return Polygons((ellipse(x, y, across, down, degrees),))
    if "keypointlabels" in value:
        return Strokes((ring_of((x, y)),))
    across, down = (ring_of((value["width"], value["height"])) * scale)[0]
    return Polygons((turned(box(x, y, x + across, y + down), degrees, (x, y)),))  # around its corner
