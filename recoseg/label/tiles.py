"""Images and layers as tiles: level 0 is the image itself, every further level half of the one before."""

from __future__ import annotations

import hashlib
import io
import threading
from collections import OrderedDict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from recoseg.data.image_files import read_rgb
from recoseg.errors import UserError
from recoseg.files import write_whole
from recoseg.label.label_folder import LabelFolder, png_of
from recoseg.label.marks import Box
from recoseg.types import IGNORE

TILE = 512
_THUMBNAIL = 192
_KEPT_BYTES = 10**9
_QUALITY = 90
_DECODING = threading.Semaphore(2)
"""Large images at a time: each may take half a gigabyte while it is decoded."""


def num_levels(width: int, height: int) -> int:
    """The last one shows the whole image in one tile."""
    return max(1, (max(width, height, 1) - 1).bit_length() - (TILE - 1).bit_length() + 1)


class Pyramids:
    """Decoded images with all their levels, the latest few of them."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Path, list[NDArray[np.uint8]]] = OrderedDict()
        self._lock = threading.Lock()
        self._decoding: dict[Path, threading.Lock] = {}

    def tile(self, path: Path, level: int, x: int, y: int) -> bytes:
        """A JPEG."""
        levels = self._levels(path)
        if not 0 <= level < len(levels):
            raise UserError(f"level: got {level}, this image has 0 to {len(levels) - 1}")
        part = cut(levels[level], x, y)
        file = io.BytesIO()
        Image.fromarray(part).save(file, "JPEG", quality=_QUALITY)
        return file.getvalue()

    def _levels(self, path: Path) -> list[NDArray[np.uint8]]:
        with self._lock:
            if path in self._kept:
                self._kept.move_to_end(path)
                return self._kept[path]
            decoding = self._decoding.setdefault(path, threading.Lock())
        with decoding:  # several tiles of one image are asked for at once: it is decoded for the first
            with self._lock:
                if path in self._kept:
                    return self._kept[path]
            with _DECODING:
                levels = _halved_levels(read_rgb(path))
            with self._lock:
                self._decoding.pop(path, None)
                self._kept[path] = levels
                while len(self._kept) > 1 and _size_of(self._kept) > _KEPT_BYTES:
                    self._kept.popitem(last=False)
        return levels


def _size_of(kept: OrderedDict[Path, list[NDArray[np.uint8]]]) -> int:
    return sum(level.nbytes for levels in kept.values() for level in levels)


def _halved_levels(image: NDArray[np.uint8]) -> list[NDArray[np.uint8]]:
    levels = [image]
    height, width = image.shape[:2]
    for _ in range(1, num_levels(width, height)):
        height, width = -(-height // 2), -(-width // 2)
        halved = Image.fromarray(levels[-1]).resize((width, height), Image.Resampling.BOX)
        levels.append(np.asarray(halved))
    return levels


def cut(pixels: NDArray[np.uint8], x: int, y: int) -> NDArray[np.uint8]:
    """The tile (x, y) of one level."""
    part = pixels[y * TILE : (y + 1) * TILE, x * TILE : (x + 1) * TILE] if min(x, y) >= 0 else pixels[:0]
    if part.size == 0:
        raise UserError(f"there is no tile {x}, {y} at this level")
    return part


def tile_box(size: tuple[int, int], level: int, x: int, y: int) -> Box:
    """The part of an image of (width, height) that a tile shows."""
    width, height = size
    if not 0 <= level < num_levels(width, height):
        raise UserError(f"level: got {level}, this image has 0 to {num_levels(width, height) - 1}")
    side = TILE << level  # of the tile, in the image's own pixels
    top, left = y * side, x * side
    if not (0 <= top < height and 0 <= left < width):
        raise UserError(f"there is no tile {x}, {y} at this level")
    return left, top, min(left + side, width), min(top + side, height)


def label_tile(folder: LabelFolder, key: str, level: int, x: int, y: int) -> bytes:
    """A PNG: red is the class id, green where it is from. Only the part that has labels is looked at."""
    left, top, right, bottom = tile_box(folder.size(key), level, x, y)
    unit = 1 << level
    tile = np.zeros((-(-(bottom - top) // unit), -(-(right - left) // unit), 3), dtype=np.uint8)
    tile[..., 0] = IGNORE
    reach = folder.labelled_box(key)
    box = (
        max(left, reach[0] // unit * unit),
        max(top, reach[1] // unit * unit),
        min(right, -(-reach[2] // unit) * unit),
        min(bottom, -(-reach[3] // unit) * unit),
    )
    if box[0] < box[2] and box[1] < box[3]:
        labels = folder.labels(key, box)
        both: NDArray[np.uint16] = labels.ids | labels.origins.astype(np.uint16) * np.uint16(256)
        for _ in range(level):
            both = _halved_labels(both)
        row, column = (box[1] - top) // unit, (box[0] - left) // unit
        part = tile[row : row + both.shape[0], column : column + both.shape[1]]
        part[..., 0], part[..., 1] = both & 0xFF, both >> 8
    return png_of(tile)


def _halved_labels(both: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Of four pixels the first that has a label, so that no point gets lost."""
    height, width = both.shape
    both = np.pad(both, ((0, height % 2), (0, width % 2)), constant_values=IGNORE)
    result = both[1::2, 1::2]
    for row, column in ((1, 0), (0, 1), (0, 0)):
        part = both[row::2, column::2]
        result = np.where(part == IGNORE, result, part)
    return result


def thumbnail(path: Path, folder: Path) -> bytes:
    """A JPEG of at most 192 pixels, kept in `folder` for as long as the image file stays as it is."""
    status = path.stat()
    name = hashlib.sha256(f"{path}\0{status.st_size}\0{status.st_mtime_ns}".encode()).hexdigest()[:32]
    kept = folder / f"{name}.jpg"
    if kept.is_file():
        return kept.read_bytes()
    with _DECODING:
        small = Image.fromarray(read_rgb(path))
    small.thumbnail((_THUMBNAIL, _THUMBNAIL), Image.Resampling.BOX, reducing_gap=2.0)
    file = io.BytesIO()
    small.save(file, "JPEG", quality=85)
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(kept, file.getvalue())
    return file.getvalue()
