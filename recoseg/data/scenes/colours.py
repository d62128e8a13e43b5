"""Colours (red, green, blue from 0 to 255) that the things in a scene are painted in.

Look-alike classes share their lists on purpose: colour alone must not tell them apart.
"""

from __future__ import annotations

from recoseg.data.scenes.dice import Dice

Colour = tuple[float, float, float]

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
