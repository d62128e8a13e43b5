"""Label Studio: tasks of JSON and JSON-MIN, with polygons, brushes, rectangles, ellipses and keypoints."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np

from recoseg.label_formats import annotation, parsing

_UPLOADED = re.compile(r"[0-9a-f]{8}-(?=.)")
"""Label Studio puts this before the names of uploaded files."""

_LABELS = re.compile(r"[a-z]*labels")
_ABOUT = ("original_width", "original_height", "image_rotation")
_OTHER_ANSWERS = ("choices", "textarea", "rating", "number")
"""Types of results without pixels."""

_Object = Mapping[str, Any]


def matches(content: Any) -> bool:
    if not (isinstance(content, list) and content and isinstance(content[0], dict)):
        return False
    first = content[0]
    if isinstance(first.get("data"), dict):
        return not first.keys().isdisjoint(("annotations", "predictions", "completions"))
    return {"id", "annotator"} <= first.keys() and _find_image(first) is not None


def read(source: Path) -> annotation.LabelSource:
    """Read one file, or all of a folder."""
    images: list[annotation.AnnotatedImage] = []
    notes: Counter[str] = Counter()
    what = "export of Label Studio: a JSON list of tasks with images"
    for path, content in parsing.json_files(source, matches, notes, what=what):
        with parsing.as_written_by("Label Studio", path):
            images += _read_tasks(content, notes)
    return annotation.LabelSource(source, images, notes=notes)


def _read_tasks(tasks: Sequence[_Object], notes: Counter[str]) -> Iterator[annotation.AnnotatedImage]:
    for task in tasks:
        name = _find_image(task.get("data", task))
        if name is None:
            notes["tasks without an image: left out"] += 1
            continue
        own: Counter[str] = Counter()
        results = _find_results(task, own) if "data" in task else _find_short_results(task)
        sizes = (parsing.size_of(one.get("original_height"), one.get("original_width")) for one in results)
        size = next(filter(None, sizes), None)
        if any(one.get("image_rotation") for one in results):
            own["images that were turned in the editor: unlabelled"] += 1
            results = []
        shapes = annotation.read_objects(results, _read_shape, own)
        yield annotation.AnnotatedImage(name, size, shapes, notes=own)


def _find_image(data: _Object) -> str | None:
    """Return the file of a task: the field `image`, or the first text that ends like an image."""
    for value in (data.get("image"), *data.values()):
        place = _file_of(value) if isinstance(value, str) else ""
        if re.search(r"\.(jpe?g|png|webp|tiff?|bmp|gif|jp2|avif|p[bgp]m)$", place, re.IGNORECASE):
            return place
    return None


def _file_of(url: str) -> str:
    """Return the path of /data/upload/3/1a2b3c4d-name.jpg, /data/local-files/?d=a/name.jpg, s3://bucket/a/name.jpg."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    local = parse_qs(parts.query).get("d")
    place = local[0] if local else unquote(parts.path)
    if "/upload/" in place or place.startswith("upload/"):
        place = _UPLOADED.sub("", place.rpartition("/")[2])
    return place.lstrip("/")


def _find_results(task: _Object, notes: Counter[str]) -> list[_Object]:
    """Return the results of the newest annotation that was not skipped."""
    made = task.get("annotations") or task.get("completions") or []
    kept = [one for one in made if not one.get("was_cancelled")]
    if len(kept) < len(made):
        notes["annotations that were skipped in the tool: left out"] += len(made) - len(kept)
    if not kept:
        if task.get("predictions"):
            notes["tasks with unconfirmed predictions only: unlabelled"] += 1
        return []
    if len(kept) > 1:
        notes["tasks with several annotations: the newest is used"] += 1
    newest = max(
        kept, key=lambda one: (str(one.get("updated_at") or one.get("created_at") or ""), one.get("id") or 0)
    )
    return [one for one in newest.get("result", []) if isinstance(one.get("value"), dict)]


def _find_short_results(task: _Object) -> list[_Object]:
    """JSON-MIN has the values of a task in lists, with the names of tags of the labelling interface."""
    values = [value for field in task.values() if isinstance(field, list) for value in field]
    found = [value for value in values if isinstance(value, dict) and _label_field(value)]
    return [{"value": value, **{name: value.get(name) for name in _ABOUT}} for value in found]


def _label_field(value: _Object) -> str | None:
    """Return brushlabels, polygonlabels, labels, ..."""
    return next(filter(_LABELS.fullmatch, value), None)


def _read_shape(result: _Object, notes: Counter[str]) -> annotation.Shape | None:
    value = result["value"]
    field = _label_field(value)
    if field is None and result.get("type") in _OTHER_ANSWERS:
        return None
    size = parsing.size_of(result.get("original_height"), result.get("original_width"))
    if size is None:
        raise ValueError("no size")
    form = _read_form(value, *size, notes)
    if form is None:
        return None
    if field is None or not value[field]:
        return annotation.void(form, notes, annotation.NO_CLASS)
    return annotation.Shape(parsing.name_of(value[field][0]), form)


def _read_form(value: _Object, height: int, width: int, notes: Counter[str]) -> annotation.Form | None:
    """All lengths are percent: of the width across, of the height down."""
    scale = np.array([width, height]) / 100

    def point_of(x: str, y: str) -> tuple[float, float]:
        across, down = (parsing.ring_of((value[x], value[y])) * scale)[0].tolist()
        return across, down

    if value.get("format") == "rle" or "rle" in value:
        # `bytes` of a number are as many zeros.
        return annotation.Brush(bytes(list(value["rle"])), height, width)
    if "points" in value:
        return parsing.polygons_of([parsing.ring_of(value["points"]) * scale], notes)
    if "vertices" in value:
        corners = parsing.ring_of([(one["x"], one["y"]) for one in value["vertices"]]) * scale
        is_closed = value.get("closed")
        return parsing.polygons_of([corners], notes) if is_closed else annotation.Strokes((corners,))
    x, y = point_of("x", "y")
    degrees = parsing.number_of(value.get("rotation") or 0)
    if "radiusX" in value:
        return parsing.ellipse_of(x, y, *point_of("radiusX", "radiusY"), degrees)
    if "keypointlabels" in value:
        return annotation.Strokes((parsing.ring_of((x, y)),))
    across, down = point_of("width", "height")
    return parsing.rotate(parsing.box_of(x, y, x + across, y + down), degrees, (x, y))
