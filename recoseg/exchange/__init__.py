"""Labels of other tools: read (`FORMATS`), drawn as label images (`importing`), written back (`exporting`).

A format is a module with `recognises(path)` and `read(path)`, which turns what the tool wrote into the nouns
of `annotation`; everything after that is the same for all.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from recoseg.exchange import binary_masks, coco, cvat, label_studio, labelme, voc_masks, yolo
from recoseg.exchange.annotation import LabelSource


@dataclass(frozen=True)
class Format:
    """What people call it, whether a file or folder is of it, and its reader."""

    title: str
    recognises: Callable[[Path], bool]
    read: Callable[[Path], LabelSource]
    has_photos: bool = False  # they lie in the same folder, or it is not this format


FORMATS = {
    "coco": Format("COCO", coco.recognises, coco.read),
    "labelme": Format("LabelMe", labelme.recognises, labelme.read),
    "cvat": Format("CVAT", cvat.recognises, cvat.read),
    "label_studio": Format("Label Studio", label_studio.recognises, label_studio.read),
    "voc": Format("Pascal VOC masks", voc_masks.recognises, voc_masks.read),
    "yolo": Format("YOLO", yolo.recognises, yolo.read, has_photos=True),
    "masks": Format("binary masks", binary_masks.recognises, binary_masks.read, has_photos=True),
}

__all__ = ["FORMATS", "Format"]
