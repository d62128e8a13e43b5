"""Polygons, lines and points as pixels. A pixel belongs to a polygon if its centre lies inside.

The pixel in column 3 reaches from 3 to 4, and its centre is at 3.5, in all formats. Polygons that follow the
edges of pixels are exact, so that masks survive as polygons.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ring = NDArray[np.float64]  # (N, 2): x, y
Mask = NDArray[np.bool_]


class Patch(NamedTuple):
    """A mask somewhere in an image: its first row and column there."""

    top: int
    left: int
    mask: Mask

    @property
    def area(self) -> int:
        return int(np.count_nonzero(self.mask))


EMPTY = Patch(0, 0, np.zeros((0, 0), dtype=np.bool_))


def fill(rings: Sequence[Ring], height: int, width: int) -> Patch:
    """What lies inside of an odd number of rings: one that lies in another is a hole."""
    start = rings[0] if len(rings) == 1 else np.concatenate(rings)
    end = np.concatenate([part for ring in rings for part in (ring[1:], ring[:1])])
    x, y = start.T
    # Edges cross the centre lines of rows first, ..., last - 1; of two that meet on such a line, one does.
    rows = np.ceil(np.stack((y, end[:, 1])) - 0.5).clip(0, height).astype(np.int64)
    first, last = rows.min(0), rows.max(0)
    counts = last - first
    total = int(counts.sum())
    if not total:
        return EMPTY
    rise = end[:, 1] - y
    slope = (end[:, 0] - x) / np.where(rise == 0, 1, rise)
    before = np.cumsum(counts) - counts
    row = np.arange(total) + np.repeat(first - before, counts)  # (crossings,)
    crossing = np.repeat(x - slope * (y - 0.5), counts) + np.repeat(slope, counts) * row
    column = np.ceil(crossing - 0.5).clip(0, width).astype(np.int64)  # the first pixel to the right of it
    top, left, right = int(row.min()), int(column.min()), int(column.max())
    if left == right:
        return EMPTY
    shape = (int(row.max()) + 1 - top, right + 1 - left)
    crossings = np.bincount((row - top) * shape[1] + (column - left), minlength=shape[0] * shape[1])
    odd = (crossings & 1).astype(np.bool_).reshape(shape)
    return Patch(top, left, np.logical_xor.accumulate(odd, axis=1)[:, :-1])


def joined(patches: Sequence[Patch]) -> Patch:
    """All of them as one."""
    patches = [patch for patch in patches if patch.mask.size]
    if len(patches) < 2:
        return patches[0] if patches else EMPTY
    top, left = min(patch.top for patch in patches), min(patch.left for patch in patches)
    bottom = max(patch.top + patch.mask.shape[0] for patch in patches)
    right = max(patch.left + patch.mask.shape[1] for patch in patches)
    whole = np.zeros((bottom - top, right - left), dtype=np.bool_)
    for one in patches:
        rows, columns = one.mask.shape
        whole[one.top - top :, one.left - left :][:rows, :columns] |= one.mask
    return Patch(top, left, whole)


def cut(patch: Patch, height: int, width: int) -> Patch:
    """What of it lies in the image."""
    above, before = max(-patch.top, 0), max(-patch.left, 0)
    top, left = patch.top + above, patch.left + before
    return Patch(top, left, patch.mask[above:, before:][: max(height - top, 0), : max(width - left, 0)])


def stroke(points: Ring, thickness: int, height: int, width: int) -> Patch:
    """A line through points, or a single one: a square of `thickness` pixels at each, a band between them."""
    half = thickness / 2
    corners = half * np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    centres = np.floor(points) + (0.5 if thickness % 2 else 0.0)  # the square around a pixel is whole pixels
    parts = [fill([centre + corners], height, width) for centre in centres]
    for one, other in pairwise(points):
        along = other - one
        length = float(np.hypot(*along))
        if length:
            aside = half * np.array([-along[1], along[0]]) / length
            parts.append(
                fill([np.stack((one + aside, other + aside, other - aside, one - aside))], height, width)
            )
    return joined(parts)


_CORNERS = 128  # of a polygon in place of an ellipse: it lacks less than 0.1 % of the radius


def ellipse(x: float, y: float, across: float, down: float, degrees: float = 0.0) -> Ring:
    """Around (x, y) with the radii `across` and `down`, turned clockwise around its centre."""
    angles = np.linspace(0, 2 * np.pi, _CORNERS, endpoint=False)
    ring = np.stack((across * np.cos(angles), down * np.sin(angles)), axis=1)
    return ring @ _turn(degrees) + (x, y)


def box(left: float, top: float, right: float, bottom: float) -> Ring:
    return np.array([(left, top), (right, top), (right, bottom), (left, bottom)], dtype=np.float64)


def turned(ring: Ring, degrees: float, around: tuple[float, float]) -> Ring:
    """Clockwise, as seen with y pointing down."""
    return ring if not degrees else (ring - around) @ _turn(degrees) + around


def _turn(degrees: float) -> NDArray[np.float64]:
    """(2, 2), to be applied to rows of x, y."""
    angle = np.deg2rad(degrees)
    return np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
