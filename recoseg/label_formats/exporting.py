"""Exporting: label images as files for labelling tools, to correct masks there.

The background is what is left over, and not drawn; void pixels are objects of the class void. So an import of
the export keeps every pixel.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from recoseg.data.folder.class_list import label_scheme
from recoseg.data.folder.listing import walk_folder
from recoseg.data.label_codes import LabelCode, Labels
from recoseg.data.worker_processes import Progress
from recoseg.errors import UserError
from recoseg.label_formats.annotation import BACKGROUND, VOID
from recoseg.label_formats.coco import REST_MARK
from recoseg.label_formats.parsing import PhotoFinder
from recoseg.label_formats.rasterize import Patch
from recoseg.label_formats.run_lengths import Mask, counts_of, pack_brush, pack_counts
from recoseg.types import IGNORE, ClassInfo

Corners = NDArray[np.int64]  # (N, 2): x, y


@dataclass(frozen=True)
class LabelFolder:
    """Label images with their photos: (name of the photo, label file), and what the labels mean."""

    classes: ClassInfo
    code: LabelCode
    files: Sequence[tuple[str, Path]]

    @classmethod
    def open(cls, folder: Path, photos: Path | None) -> LabelFolder:
        """Open a dataset, or the folder of `recoseg predict`, which has no images: they are in `photos`."""
        labels = walk_folder(folder / "labels", once=False).images
        if not labels:
            raise UserError(f"{folder} holds no labels/; give a dataset, or a folder of recoseg predict")
        photos = photos or folder / "images"
        if not photos.is_dir():
            raise UserError(f"there is no folder {photos}; give the folder of the images with --images")
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


def _drawn_classes(labels: Labels, classes: ClassInfo) -> list[int]:
    """Return the numbers in the image, except the background."""
    found = np.flatnonzero(np.bincount(labels.ravel(), minlength=256)).tolist()
    return [number for number in found if number == IGNORE or classes.names[number] != BACKGROUND]


# COCO: an object per connected region


def coco_text(
    labelled: Iterable[tuple[str, Labels]],
    classes: ClassInfo,
    *,
    polygons: bool,
    progress: Callable[[int], None] | None = None,
) -> str:
    """Return COCO's JSON for pairs of (photo, its labels), with masks as run lengths or polygons.

    `progress` is called with the number of images that are done.
    """
    images: list[dict[str, Any]] = []
    objects: list[dict[str, Any]] = []
    for number, (photo, labels) in enumerate(labelled, start=1):
        height, width = labels.shape
        images.append({"id": number, "file_name": photo, "width": width, "height": height})
        for index in _drawn_classes(labels, classes):
            for patch in _regions(labels == index):
                rows, columns = patch.mask.shape
                objects.append({
                    "id": len(objects) + 1,
                    "image_id": number,
                    "category_id": index + 1,
                    "iscrowd": 0,
                    "area": int(np.count_nonzero(patch.mask)),
                    "bbox": [patch.left, patch.top, columns, rows],
                    "segmentation": _polygons(patch) if polygons else _run_lengths(patch, height, width),
                })  # fmt: skip
        if progress:
            progress(number)
    names = dict(enumerate(classes.names, start=1))
    if any(one["category_id"] == IGNORE + 1 for one in objects):
        names[IGNORE + 1] = VOID
    rest = BACKGROUND if BACKGROUND in classes.names else VOID
    return json.dumps({
        "info": {"description": "labels written by recoseg", REST_MARK: rest},
        "images": images,
        "annotations": objects,
        "categories": [{"id": number, "name": name, "supercategory": ""} for number, name in names.items()],
    })  # fmt: skip


def _regions(mask: Mask) -> Iterator[Patch]:
    """Yield regions that are connected by the sides of pixels."""
    numbered, _ = ndimage.label(mask)
    for number, (rows, columns) in enumerate(ndimage.find_objects(numbered), start=1):
        yield Patch(rows.start, columns.start, numbered[rows, columns] == number)


def _polygons(patch: Patch) -> list[list[int]]:
    ring = join_holes(outlines(patch.mask))
    return [np.add(ring, (patch.left, patch.top)).ravel().tolist()]


def _run_lengths(patch: Patch, height: int, width: int) -> dict[str, Any]:
    """Pack the mask of the whole image, column by column; only the columns of the patch are in memory."""
    rows, columns = patch.mask.shape
    strip = np.zeros((columns, height), dtype=np.bool_)
    strip[:, patch.top : patch.top + rows] = patch.mask.T
    after = width - patch.left - columns
    counts = counts_of(strip.ravel(), before=patch.left * height, after=after * height)
    return {"size": [height, width], "counts": pack_counts(counts, height, width)}


def outlines(region: Mask) -> list[Corners]:
    """Return rings along the edges of pixels of a region: the outer ring, then holes.

    The path keeps the region on its right. Where two pixels touch at a corner, it turns right.
    """
    padded = np.pad(region, 1)
    inside, width = padded[1:-1, 1:-1], region.shape[1] + 1
    steps = (1, width, -1, -width)  # right, down, left, up, between corners numbered row by row
    edges = []
    neighbours = padded[:-2, 1:-1], padded[1:-1, 2:], padded[2:, 1:-1], padded[1:-1, :-2]
    for outside, x, y in zip(neighbours, (0, 1, 1, 0), (0, 0, 1, 1), strict=True):
        rows, columns = np.nonzero(inside & ~outside)
        edges.append(((rows + y) * width + columns + x).tolist())
    starts_of = [set(starts) for starts in edges]
    unused = [set(starts) for starts in edges]
    rings = []
    for start in edges[0]:  # the first edge is at the top, on the outer ring
        ring, at, direction = [], start, 0
        while at in unused[direction]:
            unused[direction].remove(at)
            at += steps[direction]
            for turned in ((direction + 1) % 4, direction, (direction - 1) % 4):
                if at in starts_of[turned]:
                    break
            if turned != direction:
                ring.append(at)
            direction = turned
        if ring:
            rings.append(np.stack(np.divmod(np.array(ring), width)[::-1], axis=1))
    return rings


def join_holes(rings: list[Corners]) -> Corners:
    """Return one ring, for formats without holes: a cut of no width leads to each hole, from its left."""
    whole = rings[0]
    for hole in sorted(rings[1:], key=lambda ring: int(ring[:, 0].min())):
        turned = np.roll(hole, -int(hole[:, 0].argmin()), axis=0)
        x, y = turned[0].tolist()
        after = np.roll(whole, -1, axis=0)
        low, high = np.minimum(whole[:, 1], after[:, 1]), np.maximum(whole[:, 1], after[:, 1])
        met = (whole[:, 0] == after[:, 0]) & (whole[:, 0] <= x) & (low <= y) & (y <= high) & (low < high)
        edge = int(np.where(met, whole[:, 0], -1).argmax())
        cut = np.array([[whole[edge, 0], y]])
        whole = np.concatenate((whole[: edge + 1], cut, turned, turned[:1], cut, whole[edge + 1 :]))
    return whole


# Label Studio: a brush per class


def label_studio_text(folder: LabelFolder, *, prefix: str, progress: Progress | None = None) -> str:
    """Return tasks with predictions, to confirm or correct; `prefix` comes before the names of images."""
    tasks = []
    for number, (photo, labels) in enumerate(folder, start=1):
        height, width = labels.shape
        result = [
            {
                "id": f"{number}-{index}",
                "type": "brushlabels",
                "from_name": "tag",
                "to_name": "image",
                "original_width": width,
                "original_height": height,
                "image_rotation": 0,
                "value": {
                    "format": "rle",
                    "rle": pack_brush((labels == index).ravel()),
                    "brushlabels": [VOID if index == IGNORE else folder.classes.names[index]],
                },
            }
            for index in _drawn_classes(labels, folder.classes)
        ]
        predictions = [{"model_version": "recoseg", "result": result}]
        tasks.append({"data": {"image": f"{prefix}{photo}"}, "predictions": predictions})
        if progress:
            progress(number, len(folder.files))
    return json.dumps(tasks)


def label_studio_setup(classes: ClassInfo) -> str:
    """Return the labelling interface for these tasks, to paste into the settings of a project."""
    lines = [
        f'    <Label value={quoteattr(name)} background="#{red:02x}{green:02x}{blue:02x}"/>'
        for name, (red, green, blue) in zip(classes.names, classes.palette, strict=True)
        if name != BACKGROUND
    ]
    lines.append(f'    <Label value="{VOID}" background="#808080"/>')
    image = '  <Image name="image" value="$image" zoom="true"/>'
    brushes = '  <BrushLabels name="tag" toName="image">'
    return "\n".join(["<View>", image, brushes, *lines, "  </BrushLabels>", "</View>", ""])
