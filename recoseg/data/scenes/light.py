"""Time of day and weather: what they make of a colour at a distance, and of the sky."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recoseg.data.scenes.colours import Colour, varied
from recoseg.data.scenes.dice import Dice

Floats = NDArray[np.floating]


@dataclass(frozen=True)
class Weather:
    """What all scenes of one weather share; pairs are the range that a scene draws from."""

    sun: Colour  # factors on red, green, blue
    zenith: Colour
    haze: Colour  # the sky just above the horizon, and the colour of fog
    fog: tuple[float, float]  # per metre
    clouds: tuple[float, float]
    shadow: tuple[float, float]
    lit_windows: float


WEATHERS = (
    Weather((1.04, 1.0, 0.95), (88, 136, 196), (190, 206, 220), (0.0, 0.004), (0.0, 0.6), (0.3, 0.5), 0.02),
    Weather(
        (1.06, 1.02, 0.94), (110, 156, 206), (214, 218, 218), (0.0, 0.004), (0.2, 0.8), (0.25, 0.5), 0.02
    ),
    Weather((0.88, 0.9, 0.94), (150, 156, 164), (196, 198, 200), (0.002, 0.01), (0.6, 1.0), (0.0, 0.1), 0.06),
    Weather(
        (0.9, 0.92, 0.94), (186, 190, 192), (204, 206, 206), (0.015, 0.04), (0.0, 0.3), (0.0, 0.06), 0.06
    ),
    Weather((1.0, 0.84, 0.7), (104, 112, 158), (238, 178, 124), (0.002, 0.01), (0.3, 0.8), (0.2, 0.4), 0.2),
    Weather((0.5, 0.52, 0.64), (38, 48, 84), (126, 112, 122), (0.002, 0.01), (0.2, 0.7), (0.0, 0.1), 0.4),
)


@dataclass(frozen=True)
class Light:
    """The light of one scene. `sun_side` is -1 when the sun stands on the left, 1 on the right."""

    sun: Colour
    zenith: Colour
    haze: Colour
    fog: float
    clouds: float
    shadow: float
    lit_windows: float
    sun_side: int

    @classmethod
    def drawn(cls, dice: Dice) -> Light:
        weather = dice.choice(WEATHERS)
        return cls(
            sun=varied(dice, weather.sun, 0.06),
            zenith=varied(dice, weather.zenith),
            haze=varied(dice, weather.haze),
            fog=dice.between(*weather.fog),
            clouds=dice.between(*weather.clouds),
            shadow=dice.between(*weather.shadow),
            lit_windows=weather.lit_windows,
            sun_side=dice.sign(),
        )

    def on(self, colour: Colour, depth: float, shade: float = 1.0) -> Colour:
        """How `colour` looks `depth` metres away on a surface that takes `shade` of the sunlight."""
        veil = depth * self.fog / (depth * self.fog + 1.0)  # not 1 - exp(), which differs between machines
        lit, (red, green, blue), sun = shade * (1.0 - veil), colour, self.sun
        haze = self.haze
        return (
            red * sun[0] * lit + haze[0] * veil,
            green * sun[1] * lit + haze[1] * veil,
            blue * sun[2] * lit + haze[2] * veil,
        )

    def over(self, pixels: Floats, depth: Floats, shade: float = 1.0) -> Floats:
        """The same for an array of colours (3, h, w) with depths that broadcast to (h, w)."""
        thick = depth * self.fog
        veil = thick / (thick + 1.0)
        red, green, blue = self.sun
        sunlight = as_planes((red * shade, green * shade, blue * shade)) * (1.0 - veil)
        return pixels * sunlight + as_planes(self.haze) * veil

    def side_shade(self, side: int) -> float:
        """The sunlight on a wall to the left (-1) or right (1) of the street: it faces the other way."""
        return 1.0 - self.shadow * (0.75 if side == self.sun_side else 0.0)


def as_planes(colour: Colour) -> Floats:
    """A colour that broadcasts over (3, h, w)."""
    return np.array(colour, dtype=np.float32)[:, None, None]
