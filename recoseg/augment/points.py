"""Labels of a few pixels moved as points, so that none gets lost or multiplied when an image is resized."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from recoseg.types import IGNORE

Flat = NDArray[np.uint8]  # (h * w) labels, row after row


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
        restore_lost_classes(result, size[1], places, classes)
    return torch.from_numpy(result.reshape(size))


def moved(index: NDArray[np.intp], old: int, new: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Where pixels go along one side, and how far their centres are from those of their new pixels."""
    twice = (2 * index + 1) * new  # in whole numbers: rounding must not move a point
    place = twice // (2 * old)
    return place, twice / (2 * old) - place - 0.5


def restore_lost_classes(result: Flat, width: int, places: NDArray[np.intp], classes: Flat) -> None:
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
