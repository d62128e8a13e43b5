"""Pascal VOC masks: SegmentationClass/NAME.png for JPEGImages/NAME.jpg, 255 around objects.

CVAT's and Datumaro's "Segmentation mask" and labelme2voc write the same, with a file of names of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from recoseg.colours import Colour
from recoseg.data.file_dataset import by_stem, read_keys
from recoseg.data.pascal_voc import PascalVOC
from recoseg.errors import UserError
from recoseg.exchange.annotation import VOID, AnnotatedImage, LabelFile, LabelSource
from recoseg.exchange.reading import as_written_by
from recoseg.types import IGNORE

_BORDER = (224, 224, 192)  # the colour of 255 in VOC's palette
_MASKS = "SegmentationClass"


def recognises(source: Path) -> bool:
    return _home(source) is not None


def _home(source: Path) -> Path | None:
    """The folder of SegmentationClass, a few folders down at most."""
    for pattern in ("", "*/", "*/*/"):
        for found in sorted(source.glob(f"{pattern}{_MASKS}")) if source.is_dir() else ():
            if found.is_dir():
                return found.parent
    return None


def read(source: Path) -> LabelSource:
    home = _home(source)
    if home is None:
        raise UserError(f"{source} holds no folder {_MASKS} with masks")
    masks = by_stem(home / _MASKS, ".png")
    if not masks:
        raise UserError(f"{home / _MASKS} holds no PNG; export the masks again")
    subsets = dict(_subsets(home))
    classes, labels_of = _classes(home)
    images = [
        AnnotatedImage(f"JPEGImages/{stem}.jpg", labels=labels_of(path), subset=subsets.get(stem, ""))
        for stem, path in masks.items()
    ]
    others = [path for path in home.glob("Segmentation*") if path.is_dir()]
    return LabelSource(home, classes, images, rest=VOID, masks=others)


class _Labels:
    """Makes label files of paths: all have the same names."""

    def __init__(self, by_value: dict[int, str], by_colour: dict[Colour, str]) -> None:
        self._by_value, self._by_colour = by_value, by_colour

    def __call__(self, path: Path) -> LabelFile:
        return LabelFile(path, self._by_value, self._by_colour)


def _classes(home: Path) -> tuple[dict[str, Colour | None], _Labels]:
    """By the colours of labelmap.txt, by the order of class_names.txt, or VOC's own."""
    path = home / "labelmap.txt"
    if path.is_file():
        with as_written_by("CVAT or Datumaro", path):
            colours = dict(_label_map(path))
        by_colour = {colour: name for name, colour in colours.items()} | {_BORDER: VOID}
        return {**colours}, _Labels({}, by_colour)
    path = home / "class_names.txt"
    if path.is_file():  # the first one may stand for -1, which is 255 in 8 bits
        names = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        first = -1 if names[:1] == ["__ignore__"] else 0
        values = {number & IGNORE: name for number, name in enumerate(names, first)}
        return dict.fromkeys(names), _Labels({IGNORE: VOID} | values, {})
    voc = PascalVOC.classes
    values = dict(enumerate(voc.names)) | {IGNORE: VOID}
    return dict(zip(voc.names, voc.palette, strict=True)), _Labels(values, {})


def _label_map(path: Path) -> Iterator[tuple[str, Colour]]:
    """Lines of name:r,g,b:parts:actions; a # begins a comment."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            name, colour = line.split(":")[:2]
            red, green, blue = (int(value) for value in colour.split(","))
            yield name.strip(), (red, green, blue)


def _subsets(home: Path) -> Iterator[tuple[str, str]]:
    for subset in ("train", "val", "test"):
        path = home / "ImageSets" / "Segmentation" / f"{subset}.txt"
        if path.is_file():
            yield from ((key, subset) for key in read_keys(path))
