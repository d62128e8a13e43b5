"""COCO: files of instances (polygons, run lengths, keypoints) and of panoptic segments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from recoseg.colours import Colour
from recoseg.errors import UserError
from recoseg.label_formats import annotation, parsing
from recoseg.label_formats.run_lengths import counts_from

REST_MARK = "recoseg_rest"
"""In the file's `info`: the class of pixels without an object, where recoseg wrote it."""

_VISIBLE = 2
"""State of a keypoint; 1 is hidden by something, 0 was not labelled."""

_Object = Mapping[str, Any]


def matches(content: Any) -> bool:
    """Files of captions have no categories."""
    return isinstance(content, dict) and {"images", "annotations", "categories"} <= content.keys()


def read(source: Path) -> annotation.LabelSource:
    """Read one file, or all COCO files of a folder."""
    what = "COCO file: a JSON with images, annotations and categories"
    classes: dict[str, Colour | None] = {}
    images: list[annotation.AnnotatedImage] = []
    notes: Counter[str] = Counter()
    rests, masks = [], []
    for path, content in parsing.json_files(source, matches, notes, what=what):
        with parsing.as_written_by("COCO", path):
            names = _read_categories(content["categories"], classes)
            images += [_read_image(path, *one, names) for one in _by_image(content, notes)]
            info = content.get("info")
            rests.append(info.get(REST_MARK) if isinstance(info, dict) else None)
            if any("segments_info" in one for one in content["annotations"][:1]):
                masks.append(path.with_suffix(""))
    if masks and len(masks) < len(rests):
        raise UserError(f"{source} holds both panoptic and instance files: give one of them")
    rest = annotation.VOID if masks or set(rests) == {annotation.VOID} else annotation.BACKGROUND
    return annotation.LabelSource(source, images, classes, rest=rest, masks=masks, notes=notes)


def _read_categories(categories: Iterable[_Object], classes: dict[str, Colour | None]) -> dict[int, str]:
    """Return id -> name, and add to the classes in the order of ids; categories of one name are one class."""
    names: dict[int, str] = {}
    for category in sorted(categories, key=lambda one: one["id"]):
        name = parsing.name_of(category["name"])
        names[parsing.whole_number(category["id"])] = name
        classes[name] = classes.get(name) or parsing.colour_of(category.get("color"))
    return names


def _by_image(content: _Object, notes: Counter[str]) -> Iterator[tuple[_Object, list[_Object]]]:
    """Yield every listed image with its annotations."""
    found: dict[Any, tuple[_Object, list[_Object]]] = {
        image["id"]: (image, []) for image in content["images"]
    }
    if len(found) < len(content["images"]):
        raise ValueError("two images of one id")
    for entry in content["annotations"]:
        if entry["image_id"] in found:
            found[entry["image_id"]][1].append(entry)
        else:
            notes["annotations of images that the file does not list: left out"] += 1
    yield from found.values()


def _read_image(
    path: Path, image: _Object, objects: list[_Object], names: Mapping[int, str]
) -> annotation.AnnotatedImage:
    notes: Counter[str] = Counter()
    size = parsing.size_of(image.get("height"), image.get("width"))
    shapes: tuple[annotation.Shape, ...] = ()
    labels = None
    if objects and "segments_info" in objects[0]:
        labels = _read_segments(path, objects[0], names, notes)
    else:
        shapes = annotation.read_objects(
            objects, lambda one, own: _read_shape(one, size, names, own), notes, box=_read_box
        )
    # Of instances_val2017.json, or of valid/_annotations.coco.json.
    subset = parsing.subset_in(path.stem) or parsing.subset_in(path.parent.name)
    return annotation.AnnotatedImage(
        parsing.file_of(image["file_name"]), size, shapes, labels, subset=subset, notes=notes
    )


def _read_segments(
    path: Path, entry: _Object, names: Mapping[int, str], notes: Counter[str]
) -> annotation.LabelFile:
    """Segments are in a PNG, with their ids as colours; 0 is void. A crowd has its class here."""
    classes: dict[Colour, str] = {(0, 0, 0): annotation.VOID}
    for segment in entry["segments_info"]:
        name = names.get(segment["category_id"])
        if name is None:
            notes[annotation.NO_CLASS] += 1
        number = parsing.whole_number(segment["id"])
        classes[number & 255, number >> 8 & 255, number >> 16 & 255] = (
            annotation.VOID if name is None else name
        )
    return annotation.LabelFile(path.with_suffix("") / parsing.file_of(entry["file_name"]), by_colour=classes)


def _read_shape(
    entry: _Object, size: tuple[int, int] | None, names: Mapping[int, str], notes: Counter[str]
) -> annotation.Shape | None:
    segmentation = entry.get("segmentation")
    form: annotation.Form | None = _read_keypoints(entry.get("keypoints") or ())
    if segmentation:
        is_mask = isinstance(segmentation, dict)
        form = _read_mask(segmentation, size) if is_mask else parsing.polygons_of(segmentation, notes)
        if form is None:
            return None
    elif form is None and "category_id" not in entry:
        notes["annotations without a category, such as captions: left out"] += 1
        return None
    elif form is None:
        return annotation.void(_read_box(entry), notes, annotation.ONLY_BOX)
    name = names.get(entry.get("category_id", ""))
    if name is None:
        return annotation.void(form, notes, annotation.NO_CLASS)
    return annotation.Shape(name, form, crowd=bool(entry.get("iscrowd")))


def _read_mask(segmentation: _Object, size: tuple[int, int] | None) -> annotation.RunLengths:
    height, width = map(parsing.whole_number, segmentation["size"])
    if size is not None and size != (height, width):
        raise ValueError("a mask of another size than its image")
    counts = segmentation["counts"]
    packed = counts if isinstance(counts, str) else counts_from(counts)
    return annotation.RunLengths(packed, height, width, by_column=True)


def _read_keypoints(points: Any) -> annotation.Strokes | None:
    found = np.asarray(points, dtype=np.float64).reshape(-1, 3)
    visible = found[found[:, 2] == _VISIBLE, :2]
    return annotation.Strokes(tuple(map(parsing.ring_of, visible))) if len(visible) else None


def _read_box(entry: _Object) -> annotation.Polygons:
    left, top, width, height = map(parsing.number_of, entry["bbox"])
    return parsing.box_of(left, top, left + width, top + height)
