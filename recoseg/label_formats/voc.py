"""Pascal VOC: SegmentationClass/NAME.png for JPEGImages/NAME.jpg, 255 around objects.

CVAT's and Datumaro's "Segmentation mask" and labelme2voc write the same, with their own file of names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from recoseg.colours import Colour
from recoseg.data.file_dataset import by_stem
from recoseg.data.pascal_voc import PascalVOC
from recoseg.errors import UserError
from recoseg.label_formats import parsing
from recoseg.label_formats.annotation import VOID, AnnotatedImage, LabelFile, LabelSource
from recoseg.types import IGNORE

_BORDER = (224, 224, 192)
"""The colour of 255 in VOC's palette."""
_MASKS = "SegmentationClass"


def recognises(source: Path) -> bool:
    return _find_home(source) is not None


def _find_home(source: Path) -> Path | None:
    """Return the folder of SegmentationClass, at most two folders down."""
    patterns = ("", "*/", "*/*/") if source.is_dir() else ()
    found = (path for pattern in patterns for path in sorted(source.glob(f"{pattern}{_MASKS}")))
    return next((path.parent for path in found if path.is_dir()), None)


def read(source: Path) -> LabelSource:
    """Read all masks, with the classes and lists that the folder has for them."""
    home = _find_home(source)
    if home is None:
        raise UserError(f"{source} holds no folder {_MASKS} with masks")
    masks = by_stem(home / _MASKS, ".png")
    if not masks:
        raise UserError(f"{home / _MASKS} holds no PNG; export the masks again")
    subsets = dict(_read_subsets(home))
    classes, labels = _read_classes(home)
    images = [
        AnnotatedImage(
            f"JPEGImages/{stem}.jpg", labels=replace(labels, path=path), subset=subsets.get(stem, "")
        )
        for stem, path in masks.items()
    ]
    others = [path for path in home.glob("Segmentation*") if path.is_dir()]
    return LabelSource(home, images, classes, rest=VOID, masks=others)


def _read_classes(home: Path) -> tuple[dict[str, Colour | None], LabelFile]:
    """Return the classes of labelmap.txt or class_names.txt, else VOC's, and how to read files of labels."""
    path = home / "labelmap.txt"
    if path.is_file():
        with parsing.as_written_by("CVAT or Datumaro", path):
            colours = dict(_read_label_map(path))
        by_colour = {colour: name for name, colour in colours.items()} | {_BORDER: VOID}
        return {**colours}, LabelFile(home, by_colour=by_colour)
    path = home / "class_names.txt"
    if path.is_file():
        with parsing.as_written_by("labelme2voc", path):
            names = [parsing.name_of(line) for line in parsing.read_lines(path)]
            names = names[names[:1] == ["__ignore__"] :]  # it stands for -1, which is 255 in 8 bits
            if len(names) > IGNORE:
                raise ValueError(f"{len(names)} names, where {IGNORE} are the most")
        classes: dict[str, Colour | None] = dict.fromkeys(names)
    else:
        voc = PascalVOC.classes
        names, classes = list(voc.names), dict(zip(voc.names, voc.palette, strict=True))
    return classes, LabelFile(home, by_value=dict(enumerate(names)) | {IGNORE: VOID})


def _read_label_map(path: Path) -> Iterator[tuple[str, Colour]]:
    """Yield name and colour from lines of name:r,g,b:parts:actions; a # begins a comment."""
    for line in parsing.read_lines(path):
        if not line.startswith("#"):
            name, numbers = line.split(":")[:2]
            colour = parsing.colour_of([int(value) for value in numbers.split(",")])
            if colour is None:
                raise ValueError(f"the colour {numbers}")
            yield parsing.name_of(name), colour


def _read_subsets(home: Path) -> Iterator[tuple[str, str]]:
    for subset in ("train", "val", "test"):
        path = home / "ImageSets" / "Segmentation" / f"{subset}.txt"
        if path.is_file():
            for line in parsing.read_lines(path):  # a key, or "image label" as a pair of paths
                yield PurePosixPath(line.split()[0]).stem, subset
