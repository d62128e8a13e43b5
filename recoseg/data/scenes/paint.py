"""What things are painted with: colours, and tiles of noise that surfaces take their texture from."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from recoseg.data.scenes.dice import Dice

Colour = tuple[float, float, float]  # red, green, blue from 0 to 255
Floats = NDArray[np.floating]

# Look-alike classes share their lists on purpose: colour alone must not tell them apart.

BLACK: Colour = (22, 22, 26)
TYRE: Colour = (30, 30, 33)
GLASS: Colour = (52, 64, 76)
STEEL: Colour = (122, 124, 126)
WHITE: Colour = (236, 236, 232)
RED: Colour = (196, 32, 36)

MASONRY: tuple[Colour, ...] = (
    (158, 92, 72), (130, 76, 64), (186, 160, 126), (200, 186, 160), (150, 148, 144), (120, 120, 122),
    (206, 202, 194), (212, 186, 128), (170, 140, 120), (108, 122, 138), (186, 128, 104), (140, 150, 140),
)  # fmt: skip
PAVING: tuple[Colour, ...] = (
    (98, 98, 102), (112, 110, 108), (126, 124, 120), (138, 134, 130), (120, 112, 104), (104, 106, 112),
)  # fmt: skip
PAINT: tuple[Colour, ...] = (
    (226, 226, 224), (176, 180, 184), (120, 124, 130), (70, 74, 80), (34, 36, 42), (160, 34, 38),
    (40, 70, 132), (96, 128, 164), (34, 84, 66), (188, 170, 136), (212, 168, 44), (196, 96, 40),
)  # fmt: skip
CLOTH: tuple[Colour, ...] = (
    (38, 40, 48), (60, 64, 76), (44, 60, 104), (88, 110, 150), (140, 40, 44), (186, 160, 120),
    (214, 212, 206), (104, 92, 70), (50, 92, 70), (206, 150, 50), (130, 130, 134), (120, 70, 110),
)  # fmt: skip
SKIN: tuple[Colour, ...] = ((232, 194, 166), (206, 160, 128), (160, 112, 82), (110, 74, 54), (84, 58, 46))
HAIR: tuple[Colour, ...] = ((34, 28, 26), (70, 48, 34), (120, 86, 52), (178, 150, 104), (150, 148, 146))
LEAVES: tuple[Colour, ...] = (
    (78, 112, 52), (60, 94, 50), (96, 122, 60), (54, 80, 56), (128, 126, 62), (152, 112, 54), (112, 92, 62),
)  # fmt: skip
METAL: tuple[Colour, ...] = ((122, 124, 126), (92, 96, 98), (62, 66, 66), (150, 150, 148), (70, 84, 76))


def varied(dice: Dice, colour: Colour, spread: float = 14.0) -> Colour:
    """`colour` with a random change of brightness and a smaller one of hue."""
    bright = dice.between(-spread, spread)
    red, green, blue = (c + bright + dice.between(-spread, spread) / 3 for c in colour)
    return red, green, blue


def scaled(colour: Colour, factor: float) -> Colour:
    red, green, blue = colour
    return red * factor, green * factor, blue * factor


def mixed(first: Colour, second: Colour, share: float) -> Colour:
    """`first` with `share` of `second` in it."""
    red, green, blue = (a + (b - a) * share for a, b in zip(first, second, strict=True))
    return red, green, blue


def as_planes(colour: Colour) -> Floats:
    """A colour that broadcasts over (3, h, w)."""
    return np.array(colour, dtype=np.float32)[:, None, None]


_TILE = 256  # a power of two, so that wrapping around is a bit mask


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
    """(256, 256) in [-1, 1]: soft patches with some fine detail, without seams."""
    dice, total = Dice(1), np.zeros((_TILE, _TILE), dtype=np.float32)
    for cells, weight in ((4, 0.3), (8, 0.3), (16, 0.2), (64, 0.2)):
        total += (value_noise(dice, _TILE, _TILE, cells, cells, wrap=True) * 2.0 - 1.0) * weight
    return total * 1.6


@cache
def grain() -> Floats:
    """(256, 256) in [-1, 1]: fine speckle, as of asphalt or leaves, without seams."""
    dice, total = Dice(2), np.zeros((_TILE, _TILE), dtype=np.float32)
    for cells, weight in ((32, 0.3), (64, 0.4), (128, 0.3)):
        total += (value_noise(dice, _TILE, _TILE, cells, cells, wrap=True) * 2.0 - 1.0) * weight
    return total * 1.5


def looked_up(tile: Floats, down: Floats, across: Floats) -> Floats:
    """`tile` at texel coordinates that broadcast together; it repeats endlessly, also below zero."""
    rows = down.astype(np.int32) & (_TILE - 1)
    columns = across.astype(np.int32) & (_TILE - 1)
    return tile.take(rows * _TILE + columns)
