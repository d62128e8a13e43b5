"""Colours: for classes that come without any, which class is the background, and how confidence is shown."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

Colour = tuple[int, int, int]
"""Red, green and blue, from 0 to 255."""

_BRIGHT: tuple[Colour, ...] = (
    (255, 60, 60), (30, 75, 255), (0, 255, 255), (240, 240, 0), (225, 0, 165),
    (135, 165, 255), (90, 255, 135), (240, 150, 0), (255, 135, 165), (45, 120, 15),
    (135, 90, 210), (210, 0, 90), (135, 210, 135), (210, 195, 90), (165, 60, 120),
    (195, 75, 255), (45, 255, 195), (210, 135, 210), (240, 150, 105), (0, 180, 150),
)  # fmt: skip
"""Each is as far as can be from those before it, to people who see red and green and to those who do not."""

_DARKER = 0.055  # each time they are used again


def distinct_colours(num_classes: int) -> tuple[Colour, ...]:
    """As many colours, bright and well apart for the first few; after twenty they return, a shade darker."""
    return tuple(_shade(*divmod(index, len(_BRIGHT))) for index in range(num_classes))


def colours_of(names: Sequence[str]) -> tuple[Colour, ...]:
    """Distinct colours for classes of these names; the background is black and takes none of them."""
    bright = iter(distinct_colours(len(names)))
    return tuple((0, 0, 0) if is_background(name) else next(bright) for name in names)


def is_background(name: str) -> bool:
    """Whether a class is called so: "background", also "Background" and "_background_"."""
    return name.strip(" _").lower() == "background"


def _shade(times: int, place: int) -> Colour:
    red, green, blue = (round(value * (1 - _DARKER * times)) for value in _BRIGHT[place])
    return red, green, blue


_CONFIDENCE = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
"""From probability 0 to 1, evenly spaced: viridis, which the colour-blind can read. page.css has it too."""


@cache
def confidence_colours() -> NDArray[np.uint8]:
    """(256, 3): the colours of probabilities from 0 to 255, dark to bright."""
    steps = np.linspace(0, 255, len(_CONFIDENCE))
    channels = [np.interp(np.arange(256), steps, channel) for channel in zip(*_CONFIDENCE, strict=True)]
    return np.stack(channels, axis=1).round().astype(np.uint8)
