"""Cars, buses and trucks in the lanes, at the kerb or crossing: which face of them is seen, and where."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from recoseg.data.scenes.camera import Facing, OnScreen, Plane, Receding
from recoseg.data.scenes.canvas import Stage
from recoseg.data.scenes.classes import Kind
from recoseg.data.scenes.colours import BLACK, Colour
from recoseg.data.scenes.dice import Dice
from recoseg.data.scenes.figure import Figure
from recoseg.data.scenes.spot import Spot


@dataclass(frozen=True)
class Vehicle:
    """A vehicle by its size in metres and how its faces are painted.

    `flank(figure, plane, shade)` paints a side, along from the back to the front of the vehicle;
    `back` and `front` paint an end, along from its middle.
    """

    kind: Kind
    length: float
    width: float
    flank: Callable[[Figure, Plane, float], None]
    back: Callable[[Figure, Facing, float], None]
    front: Callable[[Figure, Facing, float], None]


Maker = Callable[[Dice], Vehicle]


def paint_along(stage: Stage, spot: Spot, dice: Dice, *, make: Maker, oncoming: bool) -> None:
    """A vehicle along the street with its near end at the spot: that end, and the flank towards us."""
    vehicle, light = make(dice), stage.light
    far = spot.depth + vehicle.length
    half = vehicle.width / 2
    _paint_ground_shadow(stage, spot.x, spot.depth, far, half)
    figure = Figure(stage)
    if abs(spot.x) > half:
        inner = spot.x - half if spot.x > 0 else spot.x + half
        flank = Receding(stage.camera, inner, far if oncoming else spot.depth, -1 if oncoming else 1)
        vehicle.flank(figure, flank, light.side_shade(1 if spot.x > 0 else -1) * 0.82)
    end = vehicle.front if oncoming else vehicle.back
    end(figure, Facing(stage.camera, spot.x, spot.depth), 1.0)
    figure.label(vehicle.kind, outlined=spot.outlined)


def paint_across(stage: Stage, spot: Spot, dice: Dice, *, make: Maker) -> None:
    """A vehicle that crosses the street: its flank, in full."""
    vehicle, direction = make(dice), dice.sign()
    half = vehicle.length / 2
    _paint_ground_shadow(stage, spot.x, spot.depth, spot.depth + vehicle.width, half)
    figure = Figure(stage)
    plane = Facing(stage.camera, spot.x - direction * half, spot.depth, direction)
    vehicle.flank(figure, plane, 0.95)
    figure.label(vehicle.kind, outlined=spot.outlined)


def _paint_ground_shadow(stage: Stage, x: float, near: float, far: float, half: float) -> None:
    """Dark ground under the vehicle and a little around it."""
    camera, reach = stage.camera, 0.15 + stage.light.shadow
    left = half + (reach if stage.light.sun_side > 0 else 0.1)
    right = half + (reach if stage.light.sun_side < 0 else 0.1)
    near = near - 0.2
    corners = [camera.point(x - left, 0.0, near), camera.point(x + right, 0.0, near),
               camera.point(x + right, 0.0, far), camera.point(x - left, 0.0, far)]  # fmt: skip
    Figure(stage).polygon(OnScreen(near), corners, BLACK, opacity=0.45 + stage.light.shadow / 2, ghost=True)


def paint_wheel(figure: Figure, plane: Plane, along: float, radius: float) -> None:
    figure.ellipse(plane, (along, radius), radius, radius, (24, 24, 27))
    figure.ellipse(plane, (along, radius), radius * 0.55, radius * 0.55, (146, 148, 152))
    figure.ellipse(plane, (along, radius), radius * 0.2, radius * 0.2, (70, 70, 74))


def paint_lamps(figure: Figure, plane: Plane, half: float, up: float, size: float, colour: Colour) -> None:
    """One lamp at each end of a face `half` metres from its middle."""
    for side in (-1, 1):
        inner, outer = side * (half - size * 1.5), side * half
        figure.box(plane, min(inner, outer), up, max(inner, outer), up + size, colour)
