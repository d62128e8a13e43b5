"""Polygons, lines and points as pixels. A pixel belongs to a polygon if its centre lies inside.

The pixel in column 3 reaches from 3 to 4, and its centre is at 3.5, in all formats. Polygons that follow the
edges of pixels are exact, so that masks survive as polygons.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
_MOST_CROSSINGS = 2**23  # of edges and rows, for which memory is needed: some 500 MB


def fill(rings: Sequence[Ring], height: int, width: int) -> Patch:
    """What lies inside of an odd number of rings: one that lies in another is a hole."""
    start = rings[0] if len(rings) == 1 else np.concatenate(rings)
    end = np.concatenate([part for ring in rings for part in (ring[1:], ring[:1])])
    # Edges cross the centre lines of rows first, ..., last - 1; of two that meet on such a line, one does.
    rows = np.ceil(np.stack((start[:, 1], end[:, 1])) - 0.5).clip(0, height).astype(np.int64)
    crosses = rows[0] != rows[1]
    first, last = rows[:, crosses].min(0), rows[:, crosses].max(0)
    counts = last - first
    total = int(counts.sum())
    if not total:
        return EMPTY
    if total > _MOST_CROSSINGS:
        raise ValueError("a polygon of too many corners")
    x, y = start[crosses].T
    slope = (end[crosses, 0] - x) / (end[crosses, 1] - y)
    before = np.cumsum(counts) - counts
    row = np.arange(total) + np.repeat(first - before, counts)  # (crossings,)
    crossing = np.repeat(x - slope * (y - 0.5), counts) + np.repeat(slope, counts) * row
    column = np.ceil(crossing - 0.5).clip(0, width).astype(np.int64)  # the first pixel to the right of it
    top, left = int(row.min()), int(column.min())
    shape = (int(row.max()) + 1 - top, int(column.max()) - left)
    # Row by row, pixels change between outside and inside at each crossing: these are run lengths.
    changes = np.sort((row - top) * shape[1] + (column - left))
    return Patch(top, left, expanded(np.diff(changes, prepend=0, append=shape[0] * shape[1])).reshape(shape))


def expanded(runs: NDArray[np.int64]) -> Mask:
    """Run lengths, of pixels outside and inside by turns, as a flat mask."""
    return np.repeat(np.arange(len(runs)) % 2 == 1, runs)


def limits_of(rings: Sequence[Ring]) -> tuple[Ring, Ring]:
    """The lowest and the highest x, y, (2,) each."""
    points = np.concatenate(rings)
    return points.min(0), points.max(0)


def joined(patches: Iterable[Patch], low: Ring, high: Ring, height: int, width: int) -> Patch:
    """All of them as one, which lies between the points `low` and `high`, in memory one after the other."""
    left, top = np.floor(low).clip(0, (width, height)).astype(int).tolist()
    right, bottom = np.ceil(high).clip(0, (width, height)).astype(int).tolist()
    whole = np.zeros((bottom - top, right - left), dtype=np.bool_)
    for patch in patches:
        rows, columns = patch.mask.shape
        if rows and columns:
            whole[patch.top - top :, patch.left - left :][:rows, :columns] |= patch.mask
    return Patch(top, left, whole)


def cut(patch: Patch, height: int, width: int) -> Patch:
    """What of it lies in the image."""
    above, before = max(-patch.top, 0), max(-patch.left, 0)
    top, left = patch.top + above, patch.left + before
    return Patch(top, left, patch.mask[above:, before:][: max(height - top, 0), : max(width - left, 0)])


def stroke(points: Ring, thickness: int, height: int, width: int) -> Iterator[Patch]:
    """A line through points, or a single one: a square of `thickness` pixels at each, a band between them."""
    half = thickness / 2
    corners = half * np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    centres = np.floor(points) + (0.5 if thickness % 2 else 0.0)  # the square around a pixel is whole pixels
    for centre in centres:
        yield fill([centre + corners], height, width)
    for one, other in pairwise(points):
        along = other - one
        length = float(np.hypot(*along))
        if length:
            aside = half * np.array([-along[1], along[0]]) / length
            yield fill([np.stack((one + aside, other + aside, other - aside, one - aside))], height, width)


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
