"""Where a point of the world, in metres, falls on the image, and the two kinds of upright planes.

The camera looks along the street: x to the right, up from the ground, depth away from the camera.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from recoseg.data.scenes.dice import Dice

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
