"""Two tiles of noise that all surfaces take their texture from, and how to look them up."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from recoseg.data.scenes.dice import Dice
from recoseg.data.scenes.light import Floats

TILE = 256  # a power of two, so that wrapping around is a bit mask


def value_noise(
    dice: Dice, height: int, width: int, rows: int, columns: int, *, wrap: bool = False
) -> Floats:
    """A (height, width) map from 0 to 1: random values on a grid of `rows` x `columns`, joined smoothly."""
    grid = dice.bytes(rows + 1, columns + 1).astype(np.float32) / 255.0
    if wrap:
        grid[-1], grid[:, -1] = grid[0], grid[:, 0]
    top, vertical = _cells(height, rows)
    left, horizontal = _cells(width, columns)
    wide = grid[:, left] + (grid[:, left + 1] - grid[:, left]) * horizontal
    return wide[top] + (wide[top + 1] - wide[top]) * vertical[:, None]


def _cells(length: int, cells: int) -> tuple[NDArray[np.int64], Floats]:
    """For each of `length` pixels the cell that it lies in, and how far into it, eased at both ends."""
    position = np.arange(length, dtype=np.float32) * cells / length
    cell = position.astype(np.int64)
    inside = position - cell.astype(np.float32)
    return cell, inside * inside * (3.0 - 2.0 * inside)


@cache
def blotches() -> Floats:
    """(TILE, TILE) in [-1, 1]: soft patches with some fine detail, without seams."""
    dice, total = Dice(1), np.zeros((TILE, TILE), dtype=np.float32)
    for cells, weight in ((4, 0.3), (8, 0.3), (16, 0.2), (64, 0.2)):
        total += (value_noise(dice, TILE, TILE, cells, cells, wrap=True) * 2.0 - 1.0) * weight
    return total * 1.6


@cache
def grain() -> Floats:
    """(TILE, TILE) in [-1, 1]: fine speckle, as of asphalt or leaves, without seams."""
    dice, total = Dice(2), np.zeros((TILE, TILE), dtype=np.float32)
    for cells, weight in ((32, 0.3), (64, 0.4), (128, 0.3)):
        total += (value_noise(dice, TILE, TILE, cells, cells, wrap=True) * 2.0 - 1.0) * weight
    return total * 1.5


def looked_up(tile: Floats, down: Floats, across: Floats) -> Floats:
    """`tile` at texel coordinates that broadcast together; it repeats endlessly, also below zero."""
    rows = down.astype(np.int32) & (TILE - 1)
    columns = across.astype(np.int32) & (TILE - 1)
    return tile.take(rows * TILE + columns)
