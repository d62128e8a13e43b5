"""Random scale, crop, flip and quarter turns of one image and its labels, moved together to the pixel.

Labels of a few pixels are moved as points, so that none gets lost or multiplied when an image is resized.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from recoseg.errors import UserError
from recoseg.types import IGNORE


@dataclass(frozen=True)
class Window:
    """Where a crop comes from: a box of the source, the size it is resized to, and whether it is mirrored."""

    top: int
    left: int
    height: int
    width: int
    target_height: int
    target_width: int
    flip: bool


@dataclass(frozen=True, kw_only=True)
class RandomCrop:
    """Cuts crops of one size at a random scale and place, from images of any size.

    An image smaller than the crop is padded at the bottom and right: by reflection, its labels by IGNORE.
    With `sparse` labels are moved as points: a labelled pixel inside the crop stays one labelled pixel.
    Images without an up, as a microscope takes them, may be flipped upside down with the probability
    `flip_vertical` and turned by one to three quarters with the probability `rotate`.
    With `rare`, so many of all crops are placed where they show a class that is drawn by `class_weights` (K,)
    among those of the image: rare classes are seen more often than by chance.
    """

    size: tuple[int, int]
    scale: tuple[float, float] = (1.0, 1.0)
    flip: float = 0.5
    flip_vertical: float = 0.0
    rotate: float = 0.0
    sparse: bool = False
    rare: float = 0.0
    class_weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.rare <= 1:
            raise UserError(
                f"the share of crops around rare classes lies between 0 and 1, not at {self.rare:g}"
            )
        if min(self.size) < 1:
            raise UserError(f"crop size must be positive, got {self.size[0]}x{self.size[1]}")
        if not 0 < self.scale[0] <= self.scale[1]:
            raise UserError(f"scale needs 0 < low <= high, got {self.scale[0]:g},{self.scale[1]:g}")

    def __call__(
        self, image: Tensor, labels: Tensor, generator: np.random.Generator
    ) -> tuple[Tensor, Tensor, Tensor]:
        """(3, H, W) and (H, W) uint8 -> the same of the crop's size, and where it shows the image, bool."""
        image, labels = self._turn(image, labels, generator)
        must_show = self.draw_pixel(labels, generator) if self.rare else None
        window = self.draw_window(image.shape[1], image.shape[2], generator, must_show)
        cropped = cut_labels(labels, window, self.size, sparse=self.sparse)
        return cut_image(image, window, self.size), cropped, _pixels_inside(window, self.size)

    def _turn(self, image: Tensor, labels: Tensor, generator: np.random.Generator) -> tuple[Tensor, Tensor]:
        """The whole image and its labels, turned and flipped upside down where that is asked for."""
        if self.rotate and generator.random() < self.rotate:
            turns = int(generator.integers(1, 4))
            image, labels = image.rot90(turns, (1, 2)), labels.rot90(turns, (0, 1))
        if self.flip_vertical and generator.random() < self.flip_vertical:
            image, labels = image.flip(1), labels.flip(0)
        return image, labels

    def draw_pixel(self, labels: Tensor, generator: np.random.Generator) -> tuple[int, int] | None:
        """Row and column of a pixel that the crop is to show; None where any place will do."""
        if generator.random() >= self.rare:
            return None
        flat = labels.numpy().ravel()
        present = np.bincount(flat, minlength=IGNORE + 1)[: len(self.class_weights)] > 0
        weights = present * np.array(self.class_weights)
        if weights.sum() == 0:  # no label at all
            return None
        places = np.flatnonzero(flat == generator.choice(len(weights), p=weights / weights.sum()))
        row, column = divmod(int(places[generator.integers(len(places))]), labels.shape[1])
        return row, column

    def draw_window(
        self,
        height: int,
        width: int,
        generator: np.random.Generator,
        must_show: tuple[int, int] | None = None,
    ) -> Window:
        """A window of an image of that size; one that holds the pixel `must_show`, if there is one."""
        scale = generator.uniform(*self.scale)
        # The part of the source that fills the crop at this scale, or all there is of it.
        box = [
            min(source, max(1, round(crop / scale)))
            for source, crop in zip((height, width), self.size, strict=True)
        ]
        target = [min(crop, max(1, round(side * scale))) for side, crop in zip(box, self.size, strict=True)]
        first, last = [0, 0], [height - box[0], width - box[1]]
        if must_show is not None:
            first = [max(0, place - side + 1) for place, side in zip(must_show, box, strict=True)]
            last = [min(most, place) for most, place in zip(last, must_show, strict=True)]
        return Window(
            top=int(generator.integers(first[0], last[0] + 1)),
            left=int(generator.integers(first[1], last[1] + 1)),
            height=box[0],
            width=box[1],
            target_height=target[0],
            target_width=target[1],
            flip=bool(generator.random() < self.flip),
        )


def cut_image(image: Tensor, window: Window, size: tuple[int, int]) -> Tensor:
    """(3, H, W) uint8 -> (3, *size): antialiased bilinear, padded by reflection."""
    part = cut(image, window)
    target = (window.target_height, window.target_width)
    if part.shape[1:] != target:
        # In float: PyTorch's 8-bit kernel fails on images that are one pixel wide.
        part = F.interpolate(part[None].float(), size=target, mode="bilinear", antialias=True)[0]
        part = part.round_().to(torch.uint8)
    part = part.flip(2) if window.flip else part
    rows, columns = reflected(target[0], size[0]), reflected(target[1], size[1])
    return part[:, rows][:, :, columns] if target != size else part


def cut_labels(labels: Tensor, window: Window, size: tuple[int, int], *, sparse: bool = False) -> Tensor:
    """(H, W) uint8 -> (*size): nearest pixel, or `sparse` ones moved as points; padded by IGNORE."""
    part = cut(labels[None], window)
    target = (window.target_height, window.target_width)
    if part.shape[1:] != target and sparse:
        part = resize_points(part[0], target)[None]
    elif part.shape[1:] != target:
        part = F.interpolate(part[None], size=target, mode="nearest-exact")[0]
    part = part.flip(2) if window.flip else part
    return F.pad(part, (0, size[1] - target[1], 0, size[0] - target[0]), value=IGNORE)[0]


def _pixels_inside(window: Window, size: tuple[int, int]) -> Tensor:
    """(*size) bool: the pixels of a crop that are not padding."""
    inside = torch.zeros(size, dtype=torch.bool)
    inside[: window.target_height, : window.target_width] = True
    return inside


def cut(tensor: Tensor, window: Window) -> Tensor:
    return tensor[:, window.top : window.top + window.height, window.left : window.left + window.width]


def reflected(length: int, wanted: int) -> Tensor:
    """Indices 0..length-1, then back and forth again until there are `wanted`; works for one pixel too."""
    period = max(2 * length - 2, 1)
    index = torch.arange(wanted) % period
    return torch.minimum(index, period - index) if length > 1 else torch.zeros(wanted, dtype=torch.int64)


_Flat = NDArray[np.uint8]  # (h * w) labels, row after row


def resize_points(labels: Tensor, size: tuple[int, int]) -> Tensor:
    """(H, W) uint8 -> (*size): each labelled pixel goes to the one pixel that its centre falls into.

    Where several fall into one, the nearest to its centre stays (of equal ones the first, row by row).
    If that would leave a class without any pixel, the class takes the nearest free one instead, so a
    class that is there stays there as long as there is room.
    """
    source = labels.numpy()
    rows, columns = np.nonzero(source != IGNORE)
    classes = source[rows, columns]
    row, row_offset = moved(rows, source.shape[0], size[0])
    column, column_offset = moved(columns, source.shape[1], size[1])
    places = row * size[1] + column
    result = np.full(size[0] * size[1], IGNORE, dtype=np.uint8)
    if size[0] >= source.shape[0] and size[1] >= source.shape[1]:
        result[places] = classes  # enlarging keeps points apart
    else:
        # Of several values for one place NumPy keeps the last: write the best last.
        distance = row_offset**2 + column_offset**2
        order = np.lexsort((-np.arange(len(places)), -distance))
        result[places[order]] = classes[order]
        _restore_lost_classes(result, size[1], places, classes)
    return torch.from_numpy(result.reshape(size))


def moved(index: NDArray[np.intp], old: int, new: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Where pixels go along one side, and how far their centres are from those of their new pixels."""
    twice = (2 * index + 1) * new  # in whole numbers: rounding must not move a point
    place = twice // (2 * old)
    return place, twice / (2 * old) - place - 0.5


def _restore_lost_classes(result: _Flat, width: int, places: NDArray[np.intp], classes: _Flat) -> None:
    """Puts one pixel of each class that lost all of its own next to where it should be."""
    lost = (np.bincount(classes, minlength=IGNORE) > 0) & (
        np.bincount(result, minlength=IGNORE)[:IGNORE] == 0
    )
    for label in np.flatnonzero(lost).tolist():
        free = np.flatnonzero(result == IGNORE)
        if not len(free):
            return
        place = int(places[classes == label][0])
        rows, columns = np.divmod(free, width)
        distance = (rows - place // width) ** 2 + (columns - place % width) ** 2
        result[free[distance.argmin()]] = label
