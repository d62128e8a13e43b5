"""CVAT: "CVAT for images", an XML with polygons, masks, boxes, ellipses, lines and points."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from xml.etree.ElementTree import Element

from recoseg.colours import Colour
from recoseg.data.problem import FileError
from recoseg.errors import UserError
from recoseg.label_formats import annotation, parsing
from recoseg.label_formats.run_lengths import counts_from


def recognises(source: Path) -> bool:
    return any(map(_is_cvat, parsing.files_with(".xml", source)[: parsing.NUM_EXAMPLES]))


def _is_cvat(path: Path) -> bool:
    """The first lines are <annotations>, then <version> and <meta>."""
    start = parsing.read_start(path)
    return b"<annotations>" in start and (b"<meta>" in start or b"<version>" in start)


def read(source: Path) -> annotation.LabelSource:
    """Read one XML, or those of all tasks in a folder."""
    files = list(filter(_is_cvat, parsing.files_with(".xml", source)))
    if not files:
        raise UserError(f"{source} holds no annotations.xml of CVAT")
    classes: dict[str, Colour | None] = {}
    images: list[annotation.AnnotatedImage] = []
    for path in files:
        content = parsing.read_xml(path)
        if content.find("track") is not None and content.find("image") is None:
            raise FileError(path, "this is CVAT for video", "export the task as CVAT for images 1.1")
        with parsing.as_written_by("CVAT", path):
            for label in content.iterfind("meta//labels/label"):
                if not label.findtext("parent"):  # the joints of a skeleton have one
                    name = parsing.name_of(label.findtext("name") or "")
                    classes[name] = classes.get(name) or parsing.colour_of(label.findtext("color"))
            images += map(_read_image, content.iterfind("image"))
    return annotation.LabelSource(source, images, classes)


def _read_image(image: Element) -> annotation.AnnotatedImage:
    notes: Counter[str] = Counter()
    objects = [element for element in image if element.tag not in ("tag", "attribute")]
    shapes = annotation.read_objects(objects, _read_shape, notes, box=_read_mask_box)
    size = parsing.size_of(image.get("height"), image.get("width"))
    subset = parsing.subset_in(image.get("subset") or "")
    return annotation.AnnotatedImage(
        parsing.file_of(image.attrib["name"]), size, shapes, subset=subset, notes=notes
    )


def _read_shape(element: Element, notes: Counter[str]) -> annotation.Shape | None:
    """Objects in front have a higher z_order."""
    form = _read_form(element, notes)
    layer = parsing.whole_number(element.get("z_order") or 0)
    return (
        None
        if form is None
        else annotation.Shape(parsing.name_of(element.attrib["label"]), form, layer=layer)
    )


def _read_form(element: Element, notes: Counter[str]) -> annotation.Form | None:
    """Boxes and ellipses are turned around their centre."""
    match element.tag:
        case "polygon":
            return parsing.polygons_of([_read_points(element)], notes)
        case "polyline":
            return annotation.Strokes((_read_points(element),))
        case "points":
            return annotation.Strokes(tuple(point[None] for point in _read_points(element)))
        case "box":
            left, top, right, bottom = _read_numbers(element, "xtl", "ytl", "xbr", "ybr")
            centre = (left + right) / 2, (top + bottom) / 2
            return parsing.rotate(parsing.box_of(left, top, right, bottom), _read_rotation(element), centre)
        case "ellipse":
            x, y, across, down = _read_numbers(element, "cx", "cy", "rx", "ry")
            return parsing.ellipse_of(x, y, across, down, _read_rotation(element))
        case "mask":  # row by row in the rectangle around it
            counts = counts_from([int(count) for count in element.attrib["rle"].split(",")])
            left, top, width, height = map(int, _read_numbers(element, "left", "top", "width", "height"))
            return annotation.RunLengths(counts, height, width, by_column=False, top=top, left=left)
    raise annotation.UnknownTypeError(element.tag)


def _read_mask_box(element: Element) -> annotation.Polygons:
    left, top, width, height = _read_numbers(element, "left", "top", "width", "height")
    return parsing.box_of(left, top, left + width, top + height)


def _read_points(element: Element) -> annotation.Ring:
    """Read "1.5,2;3,4"."""
    return parsing.ring_of([pair.split(",") for pair in element.attrib["points"].split(";")])


def _read_numbers(element: Element, *names: str) -> list[float]:
    return [parsing.number_of(element.attrib[name]) for name in names]


def _read_rotation(element: Element) -> float:
    return parsing.number_of(element.get("rotation") or 0)
