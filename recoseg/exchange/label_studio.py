"""Label Studio: tasks of JSON and JSON-MIN, their images, and which of several annotations counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from recoseg.errors import UserError
from recoseg.exchange.annotation import AnnotatedImage, LabelSource, classes_in, merged
from recoseg.exchange.intake import any_file, files_with, read_json, read_outline
from recoseg.exchange.label_studio_regions import label_field, read_shape
from recoseg.exchange.parsing import as_written_by, read_objects, size_of

_UPLOADED = re.compile(r"[0-9a-f]{8}-(?=.)")
"""What Label Studio puts before the names of files that were uploaded."""

_ABOUT = ("original_width", "original_height", "image_rotation")


def recognises(source: Path) -> bool:
    return any_file(".json", source, _is_label_studio)


def _is_label_studio(path: Path) -> bool:
    content = read_outline(path)
    first = content[0] if isinstance(content, list) and content else None
    if not isinstance(first, dict):
        return False
    is_task = isinstance(first.get("data"), dict) and any(
        name in first for name in ("annotations", "predictions", "completions")
    )
    return is_task or ("id" in first and "annotator" in first and _image_of(first) is not None)


def read(source: Path) -> LabelSource:
    images: list[AnnotatedImage] = []
    notes: Counter[str] = Counter()
    for path in files_with(".json", source):
        if _is_label_studio(path):
            with as_written_by("Label Studio", path):
                images += _images(read_json(path), notes)
    if not images:
        raise UserError(f"{source} holds no export of Label Studio: a JSON list of tasks with images")
    home = source if source.is_dir() else source.parent
    return LabelSource(home, classes_in(images), merged(images), notes=notes)


def _images(tasks: Sequence[Mapping[str, Any]], notes: Counter[str]) -> Iterator[AnnotatedImage]:
    for task in tasks:
        name = _image_of(task.get("data", task))
        if name is None:
            notes["tasks without an image: left out"] += 1
            continue
        own: Counter[str] = Counter()
        results = _results(task, own) if "data" in task else _short_results(task)
        sizes = (size_of(one.get("original_height"), one.get("original_width")) for one in results)
        size = next(filter(None, sizes), None)
        if any(one.get("image_rotation") for one in results):
            own["images that were turned in the editor: unlabelled"] += 1
            results = []
        yield AnnotatedImage(name, size, read_objects(results, read_shape, own), notes=own)


def _image_of(data: Mapping[str, Any]) -> str | None:
    """The file that a task is about: the first text in it that ends like an image, whatever it is called."""
    named = [data["image"]] if isinstance(data.get("image"), str) else []
    for value in named + [value for value in data.values() if isinstance(value, str)]:
        place = _file_of(value)
        if re.search(r"\.(jpe?g|png|webp|tiff?|bmp|gif|jp2|avif|p[bgp]m)$", place, re.IGNORECASE):
            return place
    return None


def _file_of(url: str) -> str:
    """The path in /data/upload/3/1a2b3c4d-name.jpg, /data/local-files/?d=a/name.jpg, s3://bucket/a/name.jpg"""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    local = parse_qs(parts.query).get("d")
    place = local[0] if local else unquote(parts.path)
    if "/upload/" in place or place.startswith("upload/"):
        place = _UPLOADED.sub("", place.rpartition("/")[2])
    return place.lstrip("/")


def _results(task: Mapping[str, Any], notes: Counter[str]) -> list[Mapping[str, Any]]:
    """What the newest annotation of a task says, of those that were not skipped."""
    made = task.get("annotations") or task.get("completions") or []
    kept = [one for one in made if not one.get("was_cancelled")]
    if len(kept) < len(made):
        notes["annotations that were skipped in the tool: left out"] += len(made) - len(kept)
    if not kept:
        if task.get("predictions"):
            notes["tasks that have predictions only, which nobody confirmed: unlabelled"] += 1
        return []
    if len(kept) > 1:
        notes["tasks with several annotations: the newest is used"] += 1
    newest = max(
        kept, key=lambda one: (str(one.get("updated_at") or one.get("created_at") or ""), one.get("id") or 0)
    )
    return [one for one in newest.get("result", []) if isinstance(one.get("value"), dict)]


def _short_results(task: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """JSON-MIN has the values of a task in lists that are called as the tags of the labelling setup are."""
    values = [value for field in task.values() if isinstance(field, list) for value in field]
    found = [value for value in values if isinstance(value, dict) and label_field(value)]
    return [{"value": value, **{name: value.get(name) for name in _ABOUT}} for value in found]
