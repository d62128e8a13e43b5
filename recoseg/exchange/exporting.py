"""Exporting: label images as files that labelling tools read, so that masks can be corrected there.

The background is what is left over, and not drawn; void pixels are objects of a class of that name. So an
import of what was exported keeps every pixel.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
from scipy import ndimage

from recoseg.data.folder.class_list import label_scheme
from recoseg.data.folder.listing import walk_folder
from recoseg.data.label_codes import LabelCode, Labels
from recoseg.data.worker_processes import Progress
from recoseg.errors import UserError
from recoseg.exchange.annotation import BACKGROUND, VOID
from recoseg.exchange.coco import REST_MARK
from recoseg.exchange.outlines import outlines, with_holes_joined
from recoseg.exchange.photo_finder import PhotoFinder
from recoseg.exchange.rasterise import Mask, Patch
from recoseg.exchange.run_lengths import counts_of, pack_brush, pack_counts
from recoseg.types import IGNORE, ClassInfo


@dataclass(frozen=True)
class LabelFolder:
    """Label images with their photos: (name of the photo, label file), and what the labels mean."""

    classes: ClassInfo
    code: LabelCode
    files: Sequence[tuple[str, Path]]

    @classmethod
    def open(cls, folder: Path, photos: Path | None) -> LabelFolder:
        """Of a dataset, or of `recoseg predict`, which has no images: `photos` is where these are."""
        labels = walk_folder(folder / "labels", once=False).images
        if not labels:
            raise UserError(f"{folder} holds no labels/; give a dataset, or what recoseg predict made")
        photos = photos or folder / "images"
        if not photos.is_dir():
            raise UserError(f"there is no folder {photos}; give that of the images with --images")
        finder = PhotoFinder(photos)
        files = []
        for path in labels:
            name = path.relative_to(folder / "labels").with_suffix("")
            photo = finder.find(name.as_posix())
            if isinstance(photo, str):
                raise UserError(f"{path} belongs to no image in {photos}; give their folder with --images")
            files.append((photo.relative_to(photos).as_posix(), path))
        scheme = label_scheme(folder, labels)
        return cls(scheme.classes, scheme.code, files)

    def __iter__(self) -> Iterator[tuple[str, Labels]]:
        for photo, path in self.files:
            yield photo, self.code.decode(path)


def _drawn(labels: Labels, classes: ClassInfo) -> list[int]:
    """The numbers that are drawn: all in the image but the background."""
    found = np.flatnonzero(np.bincount(labels.ravel(), minlength=256)).tolist()
    return [number for number in found if number == IGNORE or classes.names[number] != BACKGROUND]


def _name_of(number: int, classes: ClassInfo) -> str:
    return VOID if number == IGNORE else classes.names[number]


# COCO: an object a connected region


def coco_text(
    labelled: Iterable[tuple[str, Labels]],
    classes: ClassInfo,
    *,
    polygons: bool,
    progress: Callable[[int], None] | None = None,
) -> str:
    """Of (photo, its labels): objects as compressed run lengths, or as polygons, in which a hole is reached
    by a cut of no width. `progress` hears of how many images are done.
    """
    images: list[dict[str, Any]] = []
    objects: list[dict[str, Any]] = []
    for number, (photo, labels) in enumerate(labelled, start=1):
        height, width = labels.shape
        images.append({"id": number, "file_name": photo, "width": width, "height": height})
        for index in _drawn(labels, classes):
            for patch in _regions(labels == index):
                rows, columns = patch.mask.shape
                objects.append({
                    "id": len(objects) + 1,
                    "image_id": number,
                    "category_id": index + 1,
                    "iscrowd": 0,
                    "area": patch.area,
                    "bbox": [patch.left, patch.top, columns, rows],
                    "segmentation": _polygons(patch) if polygons else _run_lengths(patch, height, width),
                })  # fmt: skip
        if progress:
            progress(number)
    names = [*enumerate(classes.names, start=1)]
    has_void = any(one["category_id"] == IGNORE + 1 for one in objects)
    names += [(IGNORE + 1, VOID)] if has_void else []
    rest = BACKGROUND if BACKGROUND in classes.names else VOID
    return json.dumps({
        "info": {"description": "labels written by recoseg", REST_MARK: rest},
        "images": images,
        "annotations": objects,
        "categories": [{"id": number, "name": name, "supercategory": ""} for number, name in names],
    })  # fmt: skip


def _regions(mask: Mask) -> Iterator[Patch]:
    """Connected by their sides."""
    numbered, _ = ndimage.label(mask)
    for number, (rows, columns) in enumerate(ndimage.find_objects(numbered), start=1):
        yield Patch(rows.start, columns.start, numbered[rows, columns] == number)


def _polygons(patch: Patch) -> list[list[int]]:
    place = np.array([patch.left, patch.top])
    return [(with_holes_joined(outlines(patch.mask)) + place).ravel().tolist()]


def _run_lengths(patch: Patch, height: int, width: int) -> dict[str, Any]:
    """Of the whole image, column by column; only the columns of the patch are looked at."""
    rows, columns = patch.mask.shape
    strip = np.zeros((columns, height), dtype=np.bool_)
    strip[:, patch.top : patch.top + rows] = patch.mask.T
    counts = counts_of(strip.ravel())
    counts[0] += patch.left * height
    after = (width - patch.left - columns) * height
    ends_inside = len(counts) % 2 == 0
    if ends_inside and after:
        counts = np.append(counts, after)
    elif not ends_inside:
        counts[-1] += after
    return {"size": [height, width], "counts": pack_counts(counts, height, width)}


# Label Studio: a brush a class


def label_studio_text(folder: LabelFolder, *, prefix: str, progress: Progress | None = None) -> str:
    """Tasks with predictions, to be confirmed or corrected; `prefix` comes before the names of images."""
    tasks = []
    for number, (photo, labels) in enumerate(folder, start=1):
        height, width = labels.shape
        about = {"original_width": width, "original_height": height, "image_rotation": 0}
        result = [
            {
                "id": f"{number}-{index}",
                "type": "brushlabels",
                "from_name": "tag",
                "to_name": "image",
                **about,
                "value": {
                    "format": "rle",
                    "rle": pack_brush((labels == index).ravel()),
                    "brushlabels": [_name_of(index, folder.classes)],
                },
            }
            for index in _drawn(labels, folder.classes)
        ]
        predictions = [{"model_version": "recoseg", "result": result}]
        tasks.append({"data": {"image": f"{prefix}{photo}"}, "predictions": predictions})
        if progress:
            progress(number, len(folder.files))
    return json.dumps(tasks)


def label_studio_setup(classes: ClassInfo) -> str:
    """The labelling interface that these tasks need, to be pasted into the settings of a project."""
    lines = [
        f'    <Label value={quoteattr(name)} background="#{red:02x}{green:02x}{blue:02x}"/>'
        for name, (red, green, blue) in zip(classes.names, classes.palette, strict=True)
        if name != BACKGROUND
    ]
    lines.append(f'    <Label value="{VOID}" background="#808080"/>')
    image = '  <Image name="image" value="$image" zoom="true"/>'
    brushes = '  <BrushLabels name="tag" toName="image">'
    return "\n".join(["<View>", image, brushes, *lines, "  </BrushLabels>", "</View>", ""])
