"""Guided CutOut: a box is cut out of each object, somewhere inside its bounding box."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

_CUT = (2, 5)  # of each side of the bounding box, as a fraction: 40 %
_NEIGHBOURS = np.stack([np.zeros((3, 3)), np.ones((3, 3)), np.zeros((3, 3))])
"""Cells that touch, also at a corner, are of one object; images do not touch each other."""


def kept_by_guided_cutout(objects: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Cells (B, h, w) that show an object -> (B, count, h, w) bool: what is left after `count` ways to cut.

    From a bounding box of fewer than three cells a side, nothing is cut. `generator` is on the CPU, and so is
    the search for objects; `objects` may be anywhere.
    """
    from scipy.ndimage import label  # here: other methods need not wait for it

    num_images, height, width = objects.shape
    numbers, num_objects = label(objects.cpu().numpy(), structure=_NEIGHBOURS)
    image, top, left, bottom, right = _bounding_boxes(torch.from_numpy(numbers), num_objects)
    chance = torch.rand(2, count, num_objects, generator=generator)
    first_row, end_row = _drawn_span(top, bottom, chance[0])  # (count, objects) each
    first_column, end_column = _drawn_span(left, right, chance[1])

    # Each box adds 1 at its first corner and takes it away behind it: sums along both sides fill it.
    corners = torch.zeros(num_images, count, height + 1, width + 1, dtype=torch.int32)
    way = torch.arange(count)[:, None]
    for rows, row_sign in ((first_row, 1), (end_row, -1)):
        for columns, column_sign in ((first_column, 1), (end_column, -1)):
            sign = torch.tensor(row_sign * column_sign, dtype=torch.int32)
            corners.index_put_((image, way, rows, columns), sign, accumulate=True)
    covered = corners.cumsum(2).cumsum(3)[:, :, :height, :width]
    return (covered == 0).to(objects.device, non_blocking=True)


def _bounding_boxes(numbers: Tensor, num_objects: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Numbers (B, h, w) from 1 on, 0 for none -> each object's image, and where its box begins and ends."""
    places = numbers.nonzero()  # (cells, 3): image, row, column
    owner = (numbers[tuple(places.T)].long() - 1)[:, None].expand_as(places)
    empty = places.new_zeros(num_objects, 3)
    least = empty.scatter_reduce(0, owner, places, "amin", include_self=False)
    most = empty.scatter_reduce(0, owner, places, "amax", include_self=False)
    return least[:, 0], least[:, 1], least[:, 2], most[:, 1] + 1, most[:, 2] + 1


def _drawn_span(start: Tensor, end: Tensor, chance: Tensor) -> tuple[Tensor, Tensor]:
    """Where along a side the cut begins and ends: sides (objects,) and uniform numbers (count, objects)."""
    side = end - start
    length = side * _CUT[0] // _CUT[1]
    first = start + (chance * (side - length + 1)).long()
    return first, first + length
