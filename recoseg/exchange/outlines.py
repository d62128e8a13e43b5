"""Outlines of a region along the edges of its pixels: polygons that `rasterise.fill` fills as it was."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recoseg.exchange.rasterise import Mask

Corners = NDArray[np.int64]  # (N, 2): x, y


def outlines(region: Mask) -> list[Corners]:
    """The outer ring of a region that is connected by the sides of its pixels, then those of its holes.

    Corners of a region come in pairs along every row and every column, which are the edges; so rings are
    found by going from partner to partner.
    """
    place, across, down = _corners(region)
    num = len(place)
    by_row = np.lexsort((across, place[:, 0], place[:, 1]))
    by_column = np.lexsort((down, place[:, 1], place[:, 0]))
    beside, below = np.empty(num, dtype=np.int64), np.empty(num, dtype=np.int64)
    for order, partner in ((by_row, beside), (by_column, below)):
        partner[order[0::2]], partner[order[1::2]] = order[1::2], order[0::2]
    steps = (beside.tolist(), below.tolist())
    seen = [False] * num
    rings = []
    for start in by_row.tolist():  # the first one is at the top, on the outer ring
        if seen[start]:
            continue
        ring, at, turn = [], start, 0
        while not seen[at]:
            seen[at] = True
            ring.append(at)
            at, turn = steps[turn][at], 1 - turn
        rings.append(place[ring])
    return rings


def _corners(region: Mask) -> tuple[Corners, NDArray[np.int64], NDArray[np.int64]]:
    """x, y of each corner, and for those that are there twice, where two pixels touch, which of the two comes
    first in their row and in their column: what belongs to one pixel stays together."""
    padded = np.pad(region, 1).astype(np.int64)
    upper, lower = padded[:-1], padded[1:]
    # (H + 1, W + 1): how the four pixels around a corner lie
    left_up, right_up, left_down, right_down = upper[:, :-1], upper[:, 1:], lower[:, :-1], lower[:, 1:]
    once = (left_up + right_up + left_down + right_down) % 2 == 1
    falling = (left_up & right_down) > (right_up | left_down)  # pixels at the upper left and the lower right
    rising = (right_up & left_down) > (left_up | right_down)
    places, across, down = [], [], []
    for where, first_across, first_down in (
        (once, 0, 0), (falling, 0, 0), (falling, 1, 1), (rising, 0, 1), (rising, 1, 0),
    ):  # fmt: skip
        rows, columns = np.nonzero(where)
        places.append(np.stack((columns, rows), axis=1))
        across.append(np.full(len(rows), first_across))
        down.append(np.full(len(rows), first_down))
    return np.concatenate(places), np.concatenate(across), np.concatenate(down)


def with_holes_joined(rings: list[Corners]) -> Corners:
    """One ring, for formats that know no holes: each is reached by a cut of no width, to the left of it."""
    whole = rings[0]
    for hole in sorted(rings[1:], key=lambda ring: int(ring[:, 0].min())):
        first = int(hole[:, 0].argmin())
        turned = np.roll(hole, -first, axis=0)
        x, y = turned[0].tolist()
        after = np.roll(whole, -1, axis=0)
        low, high = np.minimum(whole[:, 1], after[:, 1]), np.maximum(whole[:, 1], after[:, 1])
        met = (whole[:, 0] == after[:, 0]) & (whole[:, 0] <= x) & (low <= y) & (y <= high) & (low < high)
        edge = int(np.where(met, whole[:, 0], -1).argmax())
        cut = np.array([[whole[edge, 0], y]])
        whole = np.concatenate((whole[: edge + 1], cut, turned, turned[:1], cut, whole[edge + 1 :]))
    return whole
