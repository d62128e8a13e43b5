"""Pascal VOC masks: SegmentationClass/NAME.png for JPEGImages/NAME.jpg, 255 around objects.

CVAT's and Datumaro's "Segmentation mask" and labelme2voc write the same, with a file of names of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from recoseg.colours import Colour
from recoseg.data.file_dataset import by_stem
from recoseg.data.pascal_voc import PascalVOC
from recoseg.errors import UserError
from recoseg.exchange.annotation import VOID, AnnotatedImage, LabelFile, LabelSource
from recoseg.exchange.intake import read_lines
from recoseg.exchange.parsing import as_written_by, colour_of, name_of
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
    classes, labels = _classes(home)
    images = [
        AnnotatedImage(
            f"JPEGImages/{stem}.jpg", labels=replace(labels, path=path), subset=subsets.get(stem, "")
        )
        for stem, path in masks.items()
    ]
    others = [path for path in home.glob("Segmentation*") if path.is_dir()]
    return LabelSource(home, classes, images, rest=VOID, masks=others)


def _classes(home: Path) -> tuple[dict[str, Colour | None], LabelFile]:
    """Those of labelmap.txt or class_names.txt, else VOC's own; and how files of labels are read."""
    path = home / "labelmap.txt"
    if path.is_file():
        with as_written_by("CVAT or Datumaro", path):
            colours = dict(_label_map(path))
        by_colour = {colour: name for name, colour in colours.items()} | {_BORDER: VOID}
        return {**colours}, LabelFile(home, by_colour=by_colour)
    path = home / "class_names.txt"
    if path.is_file():
        with as_written_by("labelme2voc", path):
            names = [name_of(line) for line in read_lines(path)]
            has_void = names[:1] == ["__ignore__"]  # it stands for -1, which is 255 in 8 bits
            values = dict(enumerate(names[has_void:]))
            if len(values) > IGNORE:
                raise ValueError(f"{len(values)} names, where {IGNORE} are the most")
        return dict.fromkeys(names), LabelFile(home, by_value={IGNORE: VOID} | values)
    voc = PascalVOC.classes
    values = dict(enumerate(voc.names)) | {IGNORE: VOID}
    return dict(zip(voc.names, voc.palette, strict=True)), LabelFile(home, by_value=values)


def _label_map(path: Path) -> Iterator[tuple[str, Colour]]:
    """Lines of name:r,g,b:parts:actions; a # begins a comment."""
    for line in read_lines(path):
        if not line.startswith("#"):
            name, numbers = line.split(":")[:2]
            colour = colour_of([int(value) for value in numbers.split(",")])
            if colour is None:
                raise ValueError(f"the colour {numbers}")
            yield name_of(name), colour


def _subsets(home: Path) -> Iterator[tuple[str, str]]:
    for subset in ("train", "val", "test"):
        path = home / "ImageSets" / "Segmentation" / f"{subset}.txt"
        if path.is_file():
            for line in read_lines(path):  # a key, or "image label" as a pair of paths
                yield PurePosixPath(line.split()[0]).stem, subset
