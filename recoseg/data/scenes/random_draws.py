"""Random choices, colours and noise. Choices are raw bits of PCG64, which are the same on every machine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Colour = tuple[float, float, float]  # red, green, blue from 0 to 255
Floats = NDArray[np.floating]
_T = TypeVar("_T")


class RandomDraws:
    """A stream of random choices, given by the integers that it is seeded with."""

    def __init__(self, *entropy: int) -> None:
        self._bits = np.random.PCG64(np.random.SeedSequence(entropy))

    def seed(self) -> int:
        """Return a seed for another stream, whose draws do not change the next ones of this stream."""
        return int(self._bits.random_raw())

    def between(self, low: float, high: float) -> float:
        return low + (high - low) * ((self.seed() >> 11) * 2.0**-53)

    def choice(self, options: Sequence[_T]) -> _T:
        return options[(self.seed() >> 32) * len(options) >> 32]

    def bytes(self, count: int) -> NDArray[np.uint8]:
        # little-endian everywhere
        return np.asarray(self._bits.random_raw(-(-count // 8)), dtype="<u8").view(np.uint8)[:count]


#: Look-alike classes share a material, so that colour alone does not separate them.
_MATERIALS: dict[str, tuple[Colour, ...]] = {
    "masonry": ((158, 92, 72), (130, 76, 64), (186, 160, 126), (200, 186, 160), (120, 120, 122),
                (206, 202, 194), (212, 186, 128), (108, 122, 138), (140, 150, 140)),
    "paving": ((98, 98, 102), (112, 110, 108), (126, 124, 120), (138, 134, 130), (120, 112, 104)),
    "leaves": ((78, 112, 52), (60, 94, 50), (96, 122, 60), (54, 80, 56), (128, 126, 62), (152, 112, 54)),
    "lacquer": ((226, 226, 224), (176, 180, 184), (120, 124, 130), (70, 74, 80), (34, 36, 42), (160, 34, 38),
                (40, 70, 132), (96, 128, 164), (34, 84, 66), (188, 170, 136), (212, 168, 44), (196, 96, 40)),
    "cloth": ((38, 40, 48), (60, 64, 76), (44, 60, 104), (88, 110, 150), (140, 40, 44), (186, 160, 120),
              (214, 212, 206), (104, 92, 70), (50, 92, 70), (206, 150, 50)),
    "skin": ((232, 194, 166), (206, 160, 128), (160, 112, 82), (110, 74, 54), (84, 58, 46)),
    "glass": ((66, 80, 94), (52, 60, 70), (90, 106, 120)),
    "signal": ((196, 32, 36), (232, 184, 60), (36, 84, 170)),
    "black": ((24, 24, 27),), "dark": ((62, 60, 64),), "steel": ((122, 124, 126),),
    "white": ((232, 232, 228),), "red": ((196, 32, 36),),
}  # fmt: skip


def draw_colour(draws: RandomDraws, material: str) -> Colour:
    """Return a colour of a material, with a random change."""
    bright = draws.between(-16.0, 16.0)
    red, green, blue = (c + bright + draws.between(-5.0, 5.0) for c in draws.choice(_MATERIALS[material]))
    return red, green, blue


def as_planes(colour: Colour) -> Floats:
    """Return a colour that broadcasts over (3, h, w)."""
    return np.array(colour, dtype=np.float32)[:, None, None]


SOFT, FINE = (1, 1, 2, 2, 4, 4, 8, 8), (1, 1)  # patches, and speckle as of asphalt or leaves


@cache
def _tile(shifts: tuple[int, ...]) -> Floats:
    """Return a seamless (256, 256) tile of noise in [-1, 1], smoothed over these distances."""
    noise: Floats = RandomDraws(*shifts).bytes(65536).reshape(256, 256).astype(np.float32) / 127.5 - 1.0
    for shift in shifts:
        for axis in (0, 1):
            noise = (noise + np.roll(noise, shift, axis)) / 2
    return np.asarray(noise / noise.max())


def texture(shifts: tuple[int, ...], down: Floats, across: Floats) -> Floats:
    """Return noise at texel coordinates that broadcast together; the tile repeats, also below zero."""
    return _tile(shifts).take((down.astype(np.int32) & 255) * 256 + (across.astype(np.int32) & 255))
