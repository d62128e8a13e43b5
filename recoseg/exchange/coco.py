"""COCO: polygons, run lengths and keypoints of instances; panoptic segments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from recoseg.colours import Colour
from recoseg.errors import UserError
from recoseg.exchange.annotation import (
    BACKGROUND,
    VOID,
    AnnotatedImage,
    Form,
    LabelFile,
    LabelSource,
    RunLengths,
    Shape,
    Strokes,
    merged,
)
from recoseg.exchange.reading import (
    NOT_UNDERSTOOD,
    ONLY_BOXES,
    WRONG,
    as_written_by,
    files_with,
    first_with,
    is_json_of,
    polygons_of,
    read_json,
    ring_of,
    size_of,
    subset_in,
    whole_number,
)

REST_MARK = "recoseg_rest"
"""In the file's `info`: what pixels without an object are, where recoseg wrote it."""

_SEEN = 2  # of a keypoint: 1 is hidden by something, 0 was not labelled


def recognises(source: Path) -> bool:
    return any(_is_coco(path) for path in first_with(".json", source))


def _is_coco(path: Path) -> bool:
    return is_json_of(path, "images", "annotations", "categories")


def read(source: Path) -> LabelSource:
    """One file, or all COCO files of a folder; those of captions have no classes, and are left alone."""
    files = [path for path in files_with(".json", source) if _is_coco(path)]
    if not files:
        raise UserError(f"{source} holds no COCO file: a JSON with images, annotations and categories")
    classes: dict[str, Colour | None] = {}
    images: list[AnnotatedImage] = []
    notes: Counter[str] = Counter()
    kinds, rests, masks = set(), set(), []
    for path in files:
        content = read_json(path)
        with as_written_by("COCO", path):
            names = _category_names(content["categories"], classes, notes)
            is_panoptic = any("segments_info" in one for one in content["annotations"][:1])
            kinds.add(is_panoptic)
            info = content.get("info")
            rests.add(info.get(REST_MARK, BACKGROUND) if isinstance(info, dict) else BACKGROUND)
            if is_panoptic:
                masks.append(path.with_suffix(""))
                images += _panoptic_images(path, content, names, notes)
            else:
                images += _instance_images(path, content, names, notes)
    if len(kinds) > 1:
        raise UserError(f"{source} holds both panoptic and instance files: give the one that you mean")
    home = source if source.is_dir() else source.parent
    rest = VOID if kinds == {True} or rests == {VOID} else BACKGROUND
    return LabelSource(home, classes, merged(images), rest=rest, masks=masks, notes=notes)


def _category_names(
    categories: Any, classes: dict[str, Colour | None], notes: Counter[str]
) -> dict[int, str]:
    """id -> name, and the classes by id, whatever gaps there are; categories of one name are one class."""
    names: dict[int, str] = {}
    for category in sorted(categories, key=lambda one: one["id"]):
        name = str(category["name"]).strip()
        if name in names.values():
            notes[f"categories that are called {name!r} again: the same class"] += 1
        names[whole_number(category["id"])] = name
        colour = category.get("color")
        known = tuple(colour) if isinstance(colour, list) and len(colour) == 3 else None
        classes[name] = classes.get(name) or known
    return names


def _listed(path: Path, content: Mapping[str, Any]) -> dict[Any, dict[str, Any]]:
    images = {image["id"]: image for image in content["images"]}
    if len(images) < len(content["images"]):
        raise ValueError("two images of one id")
    return images


def _by_image(
    path: Path, content: Mapping[str, Any], notes: Counter[str]
) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Every listed image with its annotations."""
    images = _listed(path, content)
    found: dict[Any, list[dict[str, Any]]] = {number: [] for number in images}
    for annotation in content["annotations"]:
        if annotation["image_id"] in found:
            found[annotation["image_id"]].append(annotation)
        else:
            notes["annotations of images that the file does not list: left out"] += 1
    yield from ((images[number], objects) for number, objects in found.items())


def _instance_images(
    path: Path, content: Mapping[str, Any], names: Mapping[int, str], notes: Counter[str]
) -> Iterator[AnnotatedImage]:
    for image, objects in _by_image(path, content, notes):
        own: Counter[str] = Counter()
        size = size_of(image.get("height"), image.get("width")) or _size_of_masks(objects)
        shapes = tuple(shape for one in objects for shape in _shape(one, size, names, own))
        yield AnnotatedImage(str(image["file_name"]), size, shapes, subset=_subset(path), notes=own)


def _size_of_masks(objects: Sequence[Mapping[str, Any]]) -> tuple[int, int] | None:
    """What an image is drawn on that is listed without its size: run lengths tell."""
    masks = [one["segmentation"] for one in objects if isinstance(one.get("segmentation"), dict)]
    return next((size_of(*mask["size"]) for mask in masks), None)


def _subset(path: Path) -> str:
    """Of instances_val2017.json, or of valid/_annotations.coco.json."""
    return subset_in(path.stem) or subset_in(path.parent.name)


def _shape(
    annotation: Mapping[str, Any], size: tuple[int, int] | None, names: Mapping[int, str], notes: Counter[str]
) -> Iterator[Shape]:
    """The object, or none, after a note."""
    try:
        if "category_id" not in annotation:
            notes["annotations without a category, such as captions: left out"] += 1
            return
        name = names.get(annotation["category_id"])
        if name is None:
            notes["objects of a category that the file does not list: left out"] += 1
            return
        form = _form(annotation, size, notes)
        if form is not None:
            yield Shape(name, form, crowd=bool(annotation.get("iscrowd")))
    except WRONG:
        notes[NOT_UNDERSTOOD] += 1


def _form(annotation: Mapping[str, Any], size: tuple[int, int] | None, notes: Counter[str]) -> Form | None:
    segmentation = annotation.get("segmentation")
    if isinstance(segmentation, dict):
        height, width = (whole_number(side) for side in segmentation["size"])
        if size is not None and size != (height, width):
            notes["masks of another size than the file gives for their image: left out"] += 1
            return None
        counts = segmentation["counts"]
        packed = counts if isinstance(counts, str) else np.asarray(counts, dtype=np.int64)
        return RunLengths(packed, height, width, by_column=True)
    if segmentation:
        return polygons_of([[ring_of(polygon)] for polygon in segmentation], notes)
    points = np.asarray(annotation.get("keypoints") or (), dtype=np.float64).reshape(-1, 3)
    seen = points[points[:, 2] == _SEEN, :2]
    if len(seen):
        return Strokes(tuple(ring_of(point) for point in seen))
    notes[ONLY_BOXES] += 1
    return None


def _panoptic_images(
    path: Path, content: Mapping[str, Any], names: Mapping[int, str], notes: Counter[str]
) -> Iterator[AnnotatedImage]:
    """Segments lie in a PNG, whose colours are their ids; 0 is void. A crowd has its class here."""
    folder = path.with_suffix("")
    for image, objects in _by_image(path, content, notes):
        size = size_of(image.get("height"), image.get("width"))
        labels, own = None, Counter[str]()
        for annotation in objects[:1]:
            classes: dict[Colour, str] = {(0, 0, 0): VOID}
            for segment in annotation["segments_info"]:
                name = names.get(segment["category_id"])
                if name is None:
                    own["segments of a category that the file does not list: void"] += 1
                number = whole_number(segment["id"])
                classes[number & 255, number >> 8 & 255, number >> 16 & 255] = name or VOID
            labels = LabelFile(folder / annotation["file_name"], by_colour=classes)
        yield AnnotatedImage(str(image["file_name"]), size, labels=labels, subset=_subset(path), notes=own)
