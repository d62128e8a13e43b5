"""The stage of a scene: its camera, its light, and the canvas that takes image and labels.

The camera looks along the street: x to the right, up from the ground, depth away from it, in metres.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import numpy as np

from recoseg.data.scenes.dice import Dice
from recoseg.data.scenes.paint import Colour, Floats, as_planes, varied
from recoseg.types import IGNORE, ClassInfo

# The classes


class Kind(IntEnum):
    """The label of a pixel; the order is that of Cityscapes, which these scenes resemble."""

    ROAD = 0
    SIDEWALK = 1
    BUILDING = 2
    WALL = 3
    FENCE = 4
    POLE = 5
    TRAFFIC_LIGHT = 6
    TRAFFIC_SIGN = 7
    VEGETATION = 8
    SKY = 9
    PERSON = 10
    RIDER = 11
    CAR = 12
    TRUCK = 13
    BUS = 14
    BICYCLE = 15


_PALETTE = {
    Kind.ROAD: (128, 64, 128), Kind.SIDEWALK: (244, 35, 232), Kind.BUILDING: (70, 70, 70),
    Kind.WALL: (102, 102, 156), Kind.FENCE: (190, 153, 153), Kind.POLE: (153, 153, 153),
    Kind.TRAFFIC_LIGHT: (250, 170, 30), Kind.TRAFFIC_SIGN: (220, 220, 0), Kind.VEGETATION: (107, 142, 35),
    Kind.SKY: (70, 130, 180), Kind.PERSON: (220, 20, 60), Kind.RIDER: (255, 0, 0), Kind.CAR: (0, 0, 142),
    Kind.TRUCK: (0, 0, 70), Kind.BUS: (0, 60, 100), Kind.BICYCLE: (119, 11, 32),
}  # fmt: skip

CLASSES = ClassInfo(
    names=tuple(kind.name.lower().replace("_", " ") for kind in Kind),
    palette=tuple(_PALETTE[kind] for kind in Kind),
)

_GROUPS = {
    "ground": (Kind.ROAD, Kind.SIDEWALK),
    "construction": (Kind.BUILDING, Kind.WALL, Kind.FENCE),
    "vegetation": (Kind.VEGETATION,),
    "sky": (Kind.SKY,),
    "vehicle": (Kind.CAR, Kind.TRUCK, Kind.BUS, Kind.BICYCLE),
}

COARSE_CLASSES = ClassInfo(
    names=tuple(_GROUPS), palette=tuple(_PALETTE[kinds[0]] for kinds in _GROUPS.values())
)

COARSE_OF_LABEL = np.full(256, IGNORE, dtype=np.uint8)
"""The coarse class of each label; people, poles, lights and signs have none."""
for _number, _kinds in enumerate(_GROUPS.values()):
    COARSE_OF_LABEL[list(_kinds)] = _number


# The camera: where a point of the world falls on the image, and upright planes

Point = tuple[float, float]


@dataclass(frozen=True)
class Camera:
    """A pinhole camera `eye` metres above the ground; `focal`, `centre` and `horizon` are in pixels."""

    focal: float
    centre: float
    horizon: float
    eye: float

    @classmethod
    def placed(cls, dice: Dice, height: int, width: int) -> Camera:
        return cls(
            focal=math.sqrt(height * width / 2) * dice.between(1.1, 1.6),
            centre=width * dice.between(0.36, 0.64),
            horizon=height * dice.between(0.36, 0.52),
            eye=dice.between(1.4, 2.4),
        )

    def x(self, x: float, depth: float) -> float:
        return self.centre + self.focal * x / depth

    def y(self, up: float, depth: float) -> float:
        return self.horizon + self.focal * (self.eye - up) / depth

    def point(self, x: float, up: float, depth: float) -> Point:
        return self.x(x, depth), self.y(up, depth)


class Plane(Protocol):
    """An upright plane with metric coordinates: along it, and up from the ground."""

    @property
    def depth(self) -> float: ...

    def at(self, along: float, up: float) -> Point:
        """The pixel position (x, y) of a point on the plane."""


@dataclass(frozen=True)
class Facing:
    """The plane that faces the camera at `depth`; `along` starts at `x` and runs right, or left if -1.

    Above the height `upright_to` it leans back by `lean` metres a metre, like the rear window of a car.
    """

    camera: Camera
    x: float
    depth: float
    direction: int = 1
    lean: float = 0.0
    upright_to: float = 0.0

    def at(self, along: float, up: float) -> Point:
        depth = self.depth + self.lean * max(up - self.upright_to, 0.0)
        return self.camera.point(self.x + self.direction * along, up, depth)


@dataclass(frozen=True)
class Receding:
    """The plane at `x` parallel to the street; `along` runs away from the camera, or nearer if -1.

    Above the height `upright_to` it leans right by `lean` metres a metre, or left if negative.
    """

    camera: Camera
    x: float
    depth: float
    direction: int = 1
    lean: float = 0.0
    upright_to: float = 0.0

    def at(self, along: float, up: float) -> Point:
        x = self.x + self.lean * max(up - self.upright_to, 0.0)
        return self.camera.point(x, up, self.depth + self.direction * along)


@dataclass(frozen=True)
class OnScreen:
    """No plane at all: its points are pixel positions already, of something `depth` metres away."""

    depth: float

    def at(self, along: float, up: float) -> Point:
        return along, up


# The light: what time of day and weather make of a colour at a distance, and of the sky


@dataclass(frozen=True)
class _Weather:
    """What all scenes of one weather share; pairs are the range that a scene draws from."""

    sun: Colour  # factors on red, green, blue
    zenith: Colour
    haze: Colour  # the sky just above the horizon, and the colour of fog
    fog: tuple[float, float]  # per metre
    clouds: tuple[float, float]
    shadow: tuple[float, float]
    lit_windows: float


_WEATHERS = (
    _Weather((1.04, 1.0, 0.95), (88, 136, 196), (190, 206, 220), (0.0, 0.004), (0.0, 0.6), (0.3, 0.5), 0.02),
    _Weather(
        (1.06, 1.02, 0.94), (110, 156, 206), (214, 218, 218), (0.0, 0.004), (0.2, 0.8), (0.25, 0.5), 0.02
    ),
    _Weather(
        (0.88, 0.9, 0.94), (150, 156, 164), (196, 198, 200), (0.002, 0.01), (0.6, 1.0), (0.0, 0.1), 0.06
    ),
    _Weather(
        (0.9, 0.92, 0.94), (186, 190, 192), (204, 206, 206), (0.015, 0.04), (0.0, 0.3), (0.0, 0.06), 0.06
    ),
    _Weather((1.0, 0.84, 0.7), (104, 112, 158), (238, 178, 124), (0.002, 0.01), (0.3, 0.8), (0.2, 0.4), 0.2),
    _Weather((0.5, 0.52, 0.64), (38, 48, 84), (126, 112, 122), (0.002, 0.01), (0.2, 0.7), (0.0, 0.1), 0.4),
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
        weather = dice.choice(_WEATHERS)
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


# The canvas

Box = tuple[slice, slice]  # rows, columns


class Canvas:
    """A float image (3, H, W) from 0 to 255 with labels (H, W); what is painted last lies on top."""

    def __init__(self, height: int, width: int) -> None:
        self.height, self.width = height, width
        self.image = np.zeros((3, height, width), dtype=np.float32)
        self.labels = np.full((height, width), IGNORE, dtype=np.uint8)
        self.rows = np.arange(height, dtype=np.float32)[:, None] + 0.5  # (H, 1): the centres of the pixels
        self.columns = np.arange(width, dtype=np.float32)[None, :] + 0.5  # (1, W)

    def box(self, left: float, top: float, right: float, bottom: float) -> Box | None:
        """The pixels that a shape with these bounds may touch, or None if all are outside."""
        first_row, last_row = max(int(top) - 1, 0), min(int(bottom) + 2, self.height)
        first_column, last_column = max(int(left) - 1, 0), min(int(right) + 2, self.width)
        if first_row >= last_row or first_column >= last_column:
            return None
        return slice(first_row, last_row), slice(first_column, last_column)

    def blend(self, box: Box, colour: Floats, opacity: Floats) -> None:
        """Cover the image in `box` with `colour` (3, h, w) to the degree `opacity` (h, w)."""
        below = self.image[:, box[0], box[1]]
        change = colour - below
        change *= opacity
        below += change

    def mark(self, box: Box, label: int, cover: Floats, *, outlined: bool = False) -> None:
        """Label the pixels that are covered by half; with `outlined`, those covered by less become void."""
        below = self.labels[box]
        if outlined:
            below[cover > 0.02] = IGNORE
        below[cover >= 0.5] = label


@dataclass(frozen=True)
class Stage:
    """What every painter needs."""

    canvas: Canvas
    camera: Camera
    light: Light
