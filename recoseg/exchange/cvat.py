"""CVAT: "CVAT for images", an XML with polygons, masks, boxes, ellipses, lines and points."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from xml.etree.ElementTree import Element

from recoseg.colours import Colour
from recoseg.data.problem import FileError
from recoseg.errors import UserError
from recoseg.exchange.annotation import (
    AnnotatedImage,
    Drawable,
    LabelSource,
    Polygons,
    RunLengths,
    Shape,
    Strokes,
    classes_in,
    merged,
)
from recoseg.exchange.intake import any_file, files_with, read_xml
from recoseg.exchange.parsing import (
    UnknownTypeError,
    as_written_by,
    box_polygon,
    colour_of,
    file_of,
    name_of,
    number_of,
    polygons_of,
    read_objects,
    ring_of,
    size_of,
    subset_in,
    whole_number,
)
from recoseg.exchange.rasterise import Ring, box, ellipse, turned
from recoseg.exchange.run_lengths import counts_from
from recoseg.files import regular


def recognises(source: Path) -> bool:
    return any_file(".xml", source, _is_cvat)


def _is_cvat(path: Path) -> bool:
    """By its first lines: <annotations>, then <version> and <meta>."""
    try:
        with regular(path).open("rb") as file:
            start = file.read(4096)
    except OSError:
        return False
    return b"<annotations>" in start and (b"<meta>" in start or b"<version>" in start)


def read(source: Path) -> LabelSource:
    """One XML, or those of all tasks of a folder."""
    files = [path for path in files_with(".xml", source) if _is_cvat(path)]
    if not files:
        raise UserError(f"{source} holds no annotations.xml of CVAT")
    classes: dict[str, Colour | None] = {}
    images: list[AnnotatedImage] = []
    for path in files:
        content = read_xml(path)
        if content.find("track") is not None and content.find("image") is None:
            raise FileError(path, "this is CVAT for video", "export the task as CVAT for images 1.1")
        with as_written_by("CVAT", path):
            for label in content.iterfind("meta//labels/label"):
                if label.findtext("parent"):  # a joint of a skeleton
                    continue
                name = name_of(label.findtext("name") or "")
                classes[name] = classes.get(name) or colour_of(label.findtext("color"))
            images += [_image(image) for image in content.iterfind("image")]
    home = source if source.is_dir() else source.parent
    return LabelSource(home, classes_in(images, classes), merged(images))


def _image(image: Element) -> AnnotatedImage:
    notes: Counter[str] = Counter()
    objects = [element for element in image if element.tag not in ("tag", "attribute")]
    shapes = read_objects(objects, _shape, notes, box_of=_mask_box)
    size = size_of(image.get("height"), image.get("width"))
    subset = subset_in(image.get("subset") or "")
    return AnnotatedImage(file_of(image.attrib["name"]), size, shapes, subset=subset, notes=notes)


def _shape(element: Element, notes: Counter[str]) -> Shape | None:
    """What lies in front has the higher z_order."""
    form = _form(element, notes)
    layer = whole_number(element.get("z_order") or 0)
    return None if form is None else Shape(name_of(element.attrib["label"]), form, layer=layer)


def _form(element: Element, notes: Counter[str]) -> Drawable | None:
    """Polygons have no holes; boxes and ellipses are turned around their centre."""
    match element.tag:
        case "polygon":
            return polygons_of([_points(element)], notes)
        case "polyline":
            return Strokes((_points(element),))
        case "points":
            return Strokes(tuple(point[None] for point in _points(element)))
        case "box":
            left, top, right, bottom = _numbers(element, "xtl", "ytl", "xbr", "ybr")
            centre = (left + right) / 2, (top + bottom) / 2
            return Polygons((turned(box(left, top, right, bottom), _degrees(element), centre),))
        case "ellipse":
            x, y, across, down = _numbers(element, "cx", "cy", "rx", "ry")
            return Polygons((ellipse(x, y, across, down, _degrees(element)),))
        case "mask":  # row by row in the rectangle around it
            counts = counts_from([int(count) for count in element.attrib["rle"].split(",")])
            left, top, width, height = map(int, _numbers(element, "left", "top", "width", "height"))
            return RunLengths(counts, height, width, by_column=False, top=top, left=left)
    raise UnknownTypeError(element.tag)


def _mask_box(element: Element) -> Polygons:
    left, top, width, height = _numbers(element, "left", "top", "width", "height")
    return box_polygon(left, top, left + width, top + height)


def _points(element: Element) -> Ring:
    """ "1.5,2;3,4" """
    return ring_of([pair.split(",") for pair in element.attrib["points"].split(";")])


def _numbers(element: Element, *names: str) -> list[float]:
    return [number_of(element.attrib[name]) for name in names]


def _degrees(element: Element) -> float:
    return number_of(element.get("rotation") or 0)
