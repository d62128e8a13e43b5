"""COCO: files of instances and of panoptic segments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from recoseg.colours import Colour
from recoseg.errors import UserError
from recoseg.exchange.annotation import BACKGROUND, VOID, AnnotatedImage, LabelFile, LabelSource, merged
from recoseg.exchange.coco_objects import Annotation, box_of, read_shape, size_of_masks
from recoseg.exchange.intake import any_file, files_with, is_json_with, read_json
from recoseg.exchange.parsing import (
    NO_CLASS,
    as_written_by,
    colour_of,
    file_of,
    name_of,
    read_objects,
    size_of,
    subset_in,
    whole_number,
)

REST_MARK = "recoseg_rest"
"""In the file's `info`: what pixels without an object are, where recoseg wrote it."""


def recognises(source: Path) -> bool:
    return any_file(".json", source, _is_coco)


def _is_coco(path: Path) -> bool:
    return is_json_with(path, "images", "annotations", "categories")


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
            rests.add(info.get(REST_MARK) if isinstance(info, dict) else None)
            masks += [path.with_suffix("")] if is_panoptic else []
            read_image = _panoptic_image if is_panoptic else _instance_image
            images += [read_image(path, *one, names) for one in _by_image(content, notes)]
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
    colours: dict[str, Colour | None] = {}
    for category in sorted(categories, key=lambda one: one["id"]):
        name = name_of(category["name"])
        if name in colours:
            notes[f"categories that are called {name!r} again: the same class"] += 1
        names[whole_number(category["id"])] = name
        colours[name] = colours.get(name) or colour_of(category.get("color"))
    for name, colour in colours.items():
        classes[name] = classes.get(name) or colour
    return names


def _by_image(
    content: Mapping[str, Any], notes: Counter[str]
) -> Iterator[tuple[Mapping[str, Any], list[Annotation]]]:
    """Every listed image with its annotations."""
    images = {image["id"]: image for image in content["images"]}
    if len(images) < len(content["images"]):
        raise ValueError("two images of one id")
    found: dict[Any, list[Annotation]] = {number: [] for number in images}
    for annotation in content["annotations"]:
        if annotation["image_id"] in found:
            found[annotation["image_id"]].append(annotation)
        else:
            notes["annotations of images that the file does not list: left out"] += 1
    yield from ((images[number], objects) for number, objects in found.items())


def _subset(path: Path) -> str:
    """Of instances_val2017.json, or of valid/_annotations.coco.json."""
    return subset_in(path.stem) or subset_in(path.parent.name)


def _instance_image(
    path: Path, image: Mapping[str, Any], objects: list[Annotation], names: Mapping[int, str]
) -> AnnotatedImage:
    size = size_of(image.get("height"), image.get("width")) or size_of_masks(objects)
    notes: Counter[str] = Counter()
    shapes = read_objects(objects, lambda one, own: read_shape(one, size, names, own), notes, box_of=box_of)
    return AnnotatedImage(file_of(image["file_name"]), size, shapes, subset=_subset(path), notes=notes)


def _panoptic_image(
    path: Path, image: Mapping[str, Any], objects: list[Annotation], names: Mapping[int, str]
) -> AnnotatedImage:
    """Segments lie in a PNG, whose colours are their ids; 0 is void. A crowd has its class here."""
    size = size_of(image.get("height"), image.get("width"))
    labels, notes = None, Counter[str]()
    for annotation in objects[:1]:
        classes: dict[Colour, str] = {(0, 0, 0): VOID}
        for segment in annotation["segments_info"]:
            name = names.get(segment["category_id"])
            notes[NO_CLASS] += name is None
            number = whole_number(segment["id"])
            classes[number & 255, number >> 8 & 255, number >> 16 & 255] = name or VOID
        labels = LabelFile(path.with_suffix("") / file_of(annotation["file_name"]), by_colour=classes)
    file = file_of(image["file_name"])
    return AnnotatedImage(file, size, labels=labels, subset=_subset(path), notes=+notes)
