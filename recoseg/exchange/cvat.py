"""CVAT: "CVAT for images", an XML with polygons, masks, boxes, ellipses, lines and points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from recoseg.colours import Colour
from recoseg.data.problem import FileError
from recoseg.errors import UserError
from recoseg.exchange.annotation import (
    AnnotatedImage,
    Form,
    LabelSource,
    Polygons,
    RunLengths,
    Shape,
    Strokes,
    merged,
)
from recoseg.exchange.rasterise import Ring, box, ellipse, turned
from recoseg.exchange.reading import (
    NOT_UNDERSTOOD,
    WRONG,
    as_written_by,
    colour_of_text,
    files_with,
    first_with,
    polygons_of,
    ring_of,
    size_of,
    subset_in,
)
from recoseg.files import regular


def recognises(source: Path) -> bool:
    return any(_is_cvat(path) for path in first_with(".xml", source))


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
        content = _parsed(path)
        if content.find("track") is not None and content.find("image") is None:
            raise FileError(path, "this is CVAT for video", "export the task as CVAT for images 1.1")
        with as_written_by("CVAT", path):
            for label in content.iterfind("meta//labels/label"):
                if label.findtext("parent"):  # a joint of a skeleton
                    continue
                name = (label.findtext("name") or "").strip()
                classes[name] = classes.get(name) or colour_of_text(label.findtext("color"))
            images += [_image(image) for image in content.iterfind("image")]
    for image in images:
        classes |= {shape.name: None for shape in image.shapes if shape.name not in classes}
    home = source if source.is_dir() else source.parent
    return LabelSource(home, classes, merged(images))


def _parsed(path: Path) -> Element:
    try:
        return ElementTree.fromstring(regular(path).read_bytes())
    except ElementTree.ParseError as error:
        raise FileError(path, f"not XML, or cut short ({error})", "export it again from CVAT") from None


def _image(image: Element) -> AnnotatedImage:
    """Polygons know no holes; what lies in front has the higher z_order."""
    notes: Counter[str] = Counter()
    shapes = []
    for element in image:
        read_form = _FORMS.get(element.tag)
        if read_form is None:
            if element.tag not in ("tag", "attribute"):
                notes[f"shapes of the type {element.tag!r}, which has no pixels: left out"] += 1
            continue
        try:
            form = read_form(element, notes)
            if form is not None:
                layer = int(element.get("z_order") or 0)
                shapes.append(Shape(element.attrib["label"].strip(), form, layer=layer))
        except WRONG:
            notes[NOT_UNDERSTOOD] += 1
    size = size_of(image.get("height"), image.get("width"))
    subset = subset_in(image.get("subset") or "")
    return AnnotatedImage(image.attrib["name"], size, tuple(shapes), subset=subset, notes=notes)


def _points(element: Element) -> Ring:
    """ "1.5,2;3,4" """
    return ring_of([pair.split(",") for pair in element.attrib["points"].split(";")])


def _numbers(element: Element, *names: str) -> list[float]:
    numbers = [float(element.attrib[name]) for name in names]
    ring_of(numbers * 2)  # all finite
    return numbers


def _polygon(element: Element, notes: Counter[str]) -> Form | None:
    return polygons_of([[_points(element)]], notes)


def _box(element: Element, notes: Counter[str]) -> Form | None:
    """Turned around its centre."""
    left, top, right, bottom = _numbers(element, "xtl", "ytl", "xbr", "ybr")
    degrees = float(element.get("rotation") or 0)
    return Polygons(
        ((turned(box(left, top, right, bottom), degrees, ((left + right) / 2, (top + bottom) / 2)),),)
    )


def _ellipse(element: Element, notes: Counter[str]) -> Form | None:
    degrees = float(element.get("rotation") or 0)
    x, y, across, down = _numbers(element, "cx", "cy", "rx", "ry")
    return Polygons(((ellipse(x, y, across, down, degrees),),))


def _mask(element: Element, notes: Counter[str]) -> Form | None:
    """Row by row in the rectangle around it."""
    counts = np.array([int(count) for count in element.attrib["rle"].split(",")], dtype=np.int64)
    left, top, width, height = (int(side) for side in _numbers(element, "left", "top", "width", "height"))
    return RunLengths(counts, height, width, by_column=False, top=top, left=left)


def _line(element: Element, notes: Counter[str]) -> Form | None:
    return Strokes((_points(element),))


def _dots(element: Element, notes: Counter[str]) -> Form | None:
    return Strokes(tuple(point[None] for point in _points(element)))


_FORMS: dict[str, Callable[[Element, Counter[str]], Form | None]] = {
    "polygon": _polygon,
    "mask": _mask,
    "box": _box,
    "ellipse": _ellipse,
    "polyline": _line,
    "points": _dots,
}
