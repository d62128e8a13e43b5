"""Vehicles, people and what stands on a sidewalk: convex polygons, all lengths in metres."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from itertools import chain
from typing import NamedTuple

from recoseg.data.scenes.canvas import Canvas, Point
from recoseg.data.scenes.classes import Kind
from recoseg.data.scenes.random_draws import Colour, RandomDraws, draw_colour

_QUARTER = ((1.0, 0.0), (0.8660254, 0.5), (0.5, 0.8660254))
_TURNS = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))
_CIRCLE = [(a * c - u * s, a * s + u * c) for c, s in _TURNS for a, u in _QUARTER]


class Spot(NamedTuple):
    """A place on the ground, with the direction (x, depth) in which a thing there faces, and its scale."""

    x: float
    depth: float
    ahead: tuple[float, float] = (1.0, 0.0)
    scale: float = 1.0

    def at(self, along: float, up: float, across: float = 0.0) -> Point:
        """Return a point `along` metres ahead, `across` to the right of that, and `up`."""
        right, away, up = self.ahead[0] * self.scale, self.ahead[1] * self.scale, up * self.scale
        return self.x + along * right + across * away, up, self.depth + along * away - across * right

    def disc(self, along: float, up: float, radius: float, across: float = 0.0) -> list[Point]:
        return [self.at(along + radius * a, up + radius * u, across) for a, u in _CIRCLE]

    def level(self, up: float, back: float, front: float, width: float) -> list[Point]:
        """Return the corners of a level rectangle, from its left end at the back."""
        ends = ((back, -1), (back, 1), (front, 1), (front, -1))
        return [self.at(along, up, side * width / 2) for along, side in ends]


# A flat figure has strokes: material, thickness, and the places (along, up) of both ends. A stroke with one
# place for both is a disc, and its thickness the radius.

_Palette = Callable[[str], Colour]
_Stroke = tuple[str, float, float, float, float, float]
_FIGURES: dict[Kind, tuple[_Stroke, ...]] = {
    Kind.PERSON: (
        ("dark", 0.17, -0.2, 0.0, -0.08, 0.86), ("dark", 0.17, 0.2, 0.0, 0.08, 0.86),
        ("cloth", 0.11, -0.28, 0.8, -0.2, 1.44), ("cloth", 0.11, 0.28, 0.8, 0.2, 1.44),
        ("cloth", 0.42, 0.0, 0.78, 0.0, 1.46),
        ("dark", 0.15, 0.0, 1.65, 0.0, 1.65), ("skin", 0.11, 0.02, 1.6, 0.02, 1.6),
    ),
    Kind.BICYCLE: (
        ("black", 0.36, -0.52, 0.36, -0.52, 0.36), ("steel", 0.28, -0.52, 0.36, -0.52, 0.36),
        ("black", 0.36, 0.52, 0.36, 0.52, 0.36), ("steel", 0.28, 0.52, 0.36, 0.52, 0.36),
        ("lacquer", 0.07, -0.52, 0.34, 0.0, 0.3), ("lacquer", 0.07, 0.0, 0.3, 0.4, 0.85),
        ("lacquer", 0.07, 0.0, 0.3, -0.16, 0.95), ("lacquer", 0.07, 0.52, 0.34, 0.38, 1.04),
    ),
    Kind.RIDER: (
        ("dark", 0.13, 0.22, 0.7, 0.05, 0.3), ("dark", 0.18, -0.16, 0.98, 0.22, 0.7),
        ("cloth", 0.32, -0.14, 0.95, 0.16, 1.45), ("cloth", 0.12, 0.12, 1.42, 0.46, 1.05),
        ("dark", 0.15, 0.24, 1.68, 0.24, 1.68), ("skin", 0.11, 0.28, 1.63, 0.28, 1.63),
    ),
    Kind.POLE: (("steel", 0.16, 0.0, 0.0, 0.0, 6.0), ("steel", 0.14, -0.8, 6.0, 0.8, 6.0)),
    Kind.TRAFFIC_SIGN: (("signal", 0.45, 0.0, 2.5, 0.0, 2.5), ("white", 0.3, 0.0, 2.5, 0.0, 2.5)),
    Kind.TRAFFIC_LIGHT: (
        ("black", 0.5, 0.0, 2.8, 0.0, 4.0), ("dark", 0.15, 0.0, 3.05, 0.0, 3.05),
        ("dark", 0.15, 0.0, 3.4, 0.0, 3.4), ("red", 0.15, 0.0, 3.75, 0.0, 3.75),
    ),
    Kind.VEGETATION: (
        ("dark", 0.28, 0.0, 0.0, 0.1, 2.9), ("leaves", 1.3, -0.7, 2.8, -0.7, 2.8),
        ("leaves", 1.3, 0.7, 2.8, 0.7, 2.8), ("leaves", 1.8, 0.0, 3.6, 0.0, 3.6),
    ),
}  # fmt: skip

# A vehicle has a length, a width, and towers of blocks from back to front. A block has a low and a high end,
# the outline at both (back, front, width), and the materials of its faces and roof.

_Outline = tuple[float, float, float]
_Block = tuple[float, float, _Outline, _Outline, str, str]
_Vehicle = tuple[float, float, tuple[tuple[_Block, ...], ...]]


def _box(low: float, high: float, back: float, front: float, width: float, material: str) -> _Block:
    return low, high, (back, front, width), (back, front, width), material, material


_CABINS: tuple[tuple[float, _Outline, _Outline], ...] = (
    (1.5, (-2.1, 1.1, 1.7), (-1.7, 0.4, 1.36)), (1.42, (-1.6, 1.1, 1.7), (-1.0, 0.3, 1.3)),
    (2.0, (-2.2, 1.6, 1.74), (-2.1, 0.9, 1.5)),
)  # fmt: skip
_BUS = (_box(0.35, 3.1, -5.3, 5.3, 2.5, "lacquer"), _box(1.3, 2.5, -5.31, 5.31, 2.52, "glass"))
_CAB = (_box(0.4, 2.6, 2.1, 4.0, 2.4, "lacquer"), _box(1.5, 2.3, 2.09, 4.01, 2.42, "glass"))
_CAR = _box(0.3, 0.92, -2.2, 2.2, 1.8, "lacquer")
_VEHICLES: dict[Kind, list[_Vehicle]] = {
    Kind.CAR: [(4.4, 1.8, ((_CAR, (0.92, *cabin, "glass", "lacquer")),)) for cabin in _CABINS],
    Kind.BUS: [(10.6, 2.5, (_BUS,))],
    Kind.TRUCK: [(8.0, 2.5, ((_box(0.5, up, -4.0, 1.9, 2.5, "cloth"),), _CAB)) for up in (2.2, 3.0, 3.5)],
}


def paint_thing(canvas: Canvas, kind: Kind, spot: Spot, seed: int) -> None:
    """Paint a vehicle, whose near end is at the spot, or a figure, which stands in the middle of it."""
    draws = RandomDraws(seed)
    colour_of = cache(partial(draw_colour, draws))
    if kind in _VEHICLES:
        _paint_vehicle(canvas, kind, spot, draws.choice(_VEHICLES[kind]), colour_of)
        return
    canvas.polygon(spot.level(0.0, -0.3, 0.3, 0.4), colour_of("black"), None, opacity=0.5)
    for material, size, a0, u0, a1, u1 in _FIGURES[kind]:
        run, rise = a1 - a0, u1 - u0
        corners = spot.disc(a0, u0, size)
        if length := math.sqrt(run * run + rise * rise):
            a, u = rise * size / 2 / length, -run * size / 2 / length
            ends = ((a0 + a, u0 + u), (a1 + a, u1 + u), (a1 - a, u1 - u), (a0 - a, u0 - u))
            corners = [spot.at(*end) for end in ends]
        canvas.polygon(corners, colour_of(material), kind, is_leafy=material == "leaves")


def _paint_vehicle(canvas: Canvas, kind: Kind, spot: Spot, vehicle: _Vehicle, colour_of: _Palette) -> None:
    length, width, towers = vehicle
    right, away = spot.ahead
    middle = spot._replace(depth=spot.depth + (length if away else width) * spot.scale / 2)
    shadow = middle.level(0.0, -length * 0.53, length * 0.53, width + 0.3)
    canvas.polygon(shadow, colour_of("black"), None, opacity=0.6)
    underside = _box(0.0, 0.5, -length * 0.47, length * 0.47, width * 0.9, "black")
    farthest_first = towers[::-1] if away > 0.0 else towers
    for low, high, bottom, top, sides, roof in (underside, *chain(*farthest_first)):
        lower, upper = middle.level(low, *bottom), middle.level(high, *top)
        canvas.polygon(upper, colour_of(roof), kind, is_solid=True)
        for number, towards in enumerate((-right, away, right, -away)):
            after = (number + 1) % 4
            face = [lower[number], lower[after], upper[after], upper[number]]
            canvas.polygon(face, colour_of(sides), kind, towards=towards, is_solid=True)
    for along in (-0.31 * length, 0.31 * length):
        for side in (-1, 1):
            wheel = middle.disc(along, 0.38, 0.38, side * width / 2)[::side]
            canvas.polygon(wheel, colour_of("black"), kind, is_solid=True)
    for x in (-0.36 * width, 0.36 * width) if away else ():
        lamp = Spot(spot.x + x * spot.scale, spot.depth).disc(0.0, 0.7, 0.13)
        canvas.polygon(lamp, colour_of("red" if away > 0.0 else "white"), kind)
