"""Images and layers as tiles: level 0 is the image itself, every further level half of the one before."""

from __future__ import annotations

import hashlib
import io
import threading
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from recoseg.data.image_files import open_rgb, upright_size
from recoseg.data.problem import FileError
from recoseg.errors import UserError
from recoseg.files import write_whole
from recoseg.label.label_folder import LabelFolder, Stamp, png_of
from recoseg.label.marks import Box
from recoseg.types import IGNORE

TILE = 512
_THUMBNAIL = 192
_KEPT_BYTES = 10**9
_DECODING = threading.Semaphore(2)
"""Large images at a time: each may take half a gigabyte while it is decoded."""


def num_levels(width: int, height: int) -> int:
    """The last one shows the whole image in one tile."""
    return max(1, (max(width, height, 1) - 1).bit_length() - (TILE - 1).bit_length() + 1)


def level_size(width: int, height: int, level: int) -> tuple[int, int]:
    return -(-width >> level), -(-height >> level)


class Pyramids:
    """Decoded images at the levels that were requested, the latest few images."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Path, Stamp], dict[int, Image.Image]] = OrderedDict()
        self._lock = threading.Lock()
        self._decoding: dict[Path, threading.Lock] = {}

    def tile(self, path: Path, size: tuple[int, int], level: int, x: int, y: int) -> bytes:
        """A JPEG of an image of (width, height); (0, 0) if it could not be read before."""
        size = size if any(size) else upright_size(path)
        left, top, right, bottom = tile_box(size, level, x, y)
        width, height = level_size(right - left, bottom - top, level)
        corner = x * TILE, y * TILE
        part = self._level(path, size, level).crop((*corner, corner[0] + width, corner[1] + height))
        return _jpeg(part, quality=90)

    def _level(self, path: Path, size: tuple[int, int], level: int) -> Image.Image:
        with self._lock:
            decoding = self._decoding.setdefault(path, threading.Lock())
        with decoding:  # the first of several tiles decodes, the others wait
            file = path, file_stamp(path)
            levels = self._kept.get(file, {})
            if level not in levels:
                with _DECODING:
                    levels = _levels(path, size, level) | levels
            with self._lock:
                self._kept[file] = levels
                self._kept.move_to_end(file)
                while len(self._kept) > 1 and _size_of(self._kept) > _KEPT_BYTES:
                    self._kept.popitem(last=False)
        return levels[level]


def file_stamp(path: Path) -> Stamp:
    """Another one after the file was replaced."""
    try:
        status = path.stat()
    except OSError as error:
        raise FileError(path, f"cannot be opened ({error.strerror})", "restore the image") from None
    return status.st_mtime_ns, status.st_size


def _size_of(kept: OrderedDict[tuple[Path, Stamp], dict[int, Image.Image]]) -> int:
    return sum(4 * level.width * level.height for levels in kept.values() for level in levels.values())


def _levels(path: Path, size: tuple[int, int], level: int) -> dict[int, Image.Image]:
    """That level and all smaller ones. A JPEG is not decoded at more than it takes."""
    image = open_rgb(path, reduce=2 ** min(level, 3))
    decoded = next(k for k in range(level + 1) if level_size(*size, k) == image.size)
    levels = {decoded: image}
    for further in range(decoded + 1, num_levels(*size)):
        image = levels[further] = image.reduce(2)
    return levels


def _jpeg(image: Image.Image, *, quality: int) -> bytes:
    file = io.BytesIO()
    image.save(file, "JPEG", quality=quality, comment=b"")
    return file.getvalue()


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
        both = (labels.ids.astype(np.uint16) | labels.origins.astype(np.uint16) << 8).astype(np.uint16)
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
    time, size = file_stamp(path)
    name = hashlib.sha256(f"{path}\0{size}\0{time}".encode()).hexdigest()[:32]
    kept = folder / f"{name}.jpg"
    if kept.is_file():
        return kept.read_bytes()
    with _DECODING:
        small = open_rgb(path, reduce=max(upright_size(path)) // (2 * _THUMBNAIL))
    small.thumbnail((_THUMBNAIL, _THUMBNAIL), Image.Resampling.BOX, reducing_gap=2.0)
    content = _jpeg(small, quality=85)
    with suppress(OSError):  # a disk that is full or cannot be written
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(kept, content)
    return content
