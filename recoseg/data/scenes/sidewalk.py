"""What stands on a sidewalk: lamps, traffic signs and lights, bins, which are void, trees and bushes."""

from __future__ import annotations

import numpy as np

from recoseg.data.scenes.dice import Dice
from recoseg.data.scenes.paint import (
    BLACK,
    LEAVES,
    METAL,
    RED,
    WHITE,
    Colour,
    as_planes,
    blotches,
    grain,
    looked_up,
    scaled,
    varied,
)
from recoseg.data.scenes.shapes import Figure, Spot, paint_shadow
from recoseg.data.scenes.stage import Facing, Kind, Point, Stage
from recoseg.types import IGNORE

# Furniture

_BLUE: Colour = (36, 84, 168)
_SIGN_BOARDS: tuple[Colour, ...] = (_BLUE, (32, 110, 72), (228, 226, 220), (222, 178, 40))
_LAMPS: tuple[Colour, ...] = ((240, 56, 44), (246, 180, 50), (70, 220, 130))  # from the top
_OCTAGON: tuple[Point, ...] = (
    (-0.41, -1.0), (0.41, -1.0), (1.0, -0.41), (1.0, 0.41),
    (0.41, 1.0), (-0.41, 1.0), (-1.0, 0.41), (-1.0, -0.41),
)  # fmt: skip
_TRIANGLE: tuple[Point, ...] = ((-1.0, -0.8), (1.0, -0.8), (0.0, 0.95))
_DIAMOND: tuple[Point, ...] = ((-1.0, 0.0), (0.0, -1.0), (1.0, 0.0), (0.0, 1.0))


def paint_street_lamp(stage: Stage, spot: Spot, dice: Dice) -> None:
    """A tall pole with an arm over the street, or with a lantern on top."""
    plane = Facing(stage.camera, spot.x, spot.depth, -1 if spot.x > 0 else 1)
    metal, top = varied(dice, dice.choice(METAL)), dice.between(4.2, 7.5)
    paint_shadow(stage, spot, 0.3, 0.1)
    figure = Figure(stage)
    _pole(figure, plane, top, 0.16, metal)
    if dice.chance(0.6):
        reach = dice.between(1.0, 2.2)
        figure.limb(plane, (0.0, top), (reach, top + 0.25), 0.11, metal)
        figure.limb(plane, (reach, top + 0.22), (reach + 0.5, top + 0.24), 0.17, scaled(metal, 0.9))
    else:
        figure.ellipse(plane, (0.0, top + 0.2), 0.28, 0.3, (226, 220, 196))
        figure.box(plane, -0.3, top + 0.4, 0.3, top + 0.5, metal)
    figure.label(Kind.POLE, outlined=spot.outlined)


def _pole(figure: Figure, plane: Facing, top: float, width: float, metal: Colour) -> None:
    figure.box(plane, -width / 2, 0.0, width / 2, top, metal)
    figure.box(plane, 0.0, 0.0, width / 2, top, scaled(metal, 0.76))
    figure.box(plane, -width * 0.8, 0.0, width * 0.8, 0.5, scaled(metal, 0.85))


def paint_traffic_sign(stage: Stage, spot: Spot, dice: Dice) -> None:
    """A pole with one or two signs of various shapes; some show us their grey back."""
    plane = Facing(stage.camera, spot.x, spot.depth)
    metal, up, radius = varied(dice, dice.choice(METAL)), dice.between(2.2, 3.0), dice.between(0.36, 0.52)
    paint_shadow(stage, spot, 0.25, 0.08)
    figure = Figure(stage)
    _pole(figure, plane, up + 0.2, 0.12, metal)
    figure.label(Kind.POLE)
    _sign(figure, plane, (0.0, up), radius, dice)
    if dice.chance(0.35):
        _board(figure, plane, (0.0, up - radius * 1.6), radius * 0.9, radius * 0.45, dice)
    figure.label(Kind.TRAFFIC_SIGN, outlined=spot.outlined)


def _sign(figure: Figure, plane: Facing, centre: Point, radius: float, dice: Dice) -> None:
    shape = dice.choice(("circle", "circle", "triangle", "diamond", "octagon", "board"))
    back = varied(dice, METAL[3]) if dice.chance(0.15) else None
    if shape == "board":
        _board(figure, plane, centre, radius * 1.3, radius * 0.9, dice, back)
    elif shape == "circle":
        rim, middle = dice.choice(((RED, WHITE), (_BLUE, _BLUE), (RED, _BLUE), (WHITE, (110, 110, 110))))
        figure.ellipse(plane, centre, radius, radius, back or rim)
        if back is None:
            figure.ellipse(plane, centre, radius * 0.72, radius * 0.72, middle)
            figure.box(plane, centre[0] - radius * 0.4, centre[1] - radius * 0.14, centre[0] + radius * 0.4,
                       centre[1] + radius * 0.14, BLACK if middle == WHITE else WHITE)  # fmt: skip
    else:
        corners = {"triangle": _TRIANGLE, "diamond": _DIAMOND, "octagon": _OCTAGON}[shape]
        rim, middle = {"triangle": (RED, WHITE), "diamond": (WHITE, (232, 180, 40)), "octagon": (WHITE, RED)}[
            shape
        ]
        figure.polygon(plane, _placed(corners, centre, radius), back or rim)
        if back is None:
            figure.polygon(
                plane, _placed(corners, centre, radius * (0.62 if shape == "triangle" else 0.84)), middle
            )


def _board(figure: Figure, plane: Facing, centre: Point, across: float, up: float, dice: Dice,
           back: Colour | None = None) -> None:  # fmt: skip
    """A rectangle with a light rim and lines of writing."""
    colour = dice.choice(_SIGN_BOARDS)
    x, y = centre
    figure.box(plane, x - across, y - up, x + across, y + up, back or WHITE)
    if back is None:
        figure.box(plane, x - across * 0.9, y - up * 0.88, x + across * 0.9, y + up * 0.88, colour)
        ink = BLACK if colour[0] > 200 else WHITE
        for line in (-0.4, 0.3):
            figure.box(plane, x - across * 0.7, y + line * up, x + across * 0.5, y + (line + 0.24) * up, ink)


def _placed(corners: tuple[Point, ...], centre: Point, radius: float) -> list[Point]:
    return [(centre[0] + x * radius, centre[1] + y * radius) for x, y in corners]


def paint_traffic_light(stage: Stage, spot: Spot, dice: Dice) -> None:
    """A signal head with three lamps on a pole, sometimes with a second one on an arm over the road."""
    plane = Facing(stage.camera, spot.x, spot.depth, -1 if spot.x > 0 else 1)
    metal, burning = varied(dice, dice.choice(METAL)), dice.choice((0, 0, 1, 2, 2))
    overhead = dice.chance(0.4)
    top = dice.between(5.0, 6.0) if overhead else dice.between(3.1, 3.7)
    reach = dice.between(2.2, 4.0)
    paint_shadow(stage, spot, 0.3, 0.1)
    figure = Figure(stage)
    _pole(figure, plane, top, 0.15, metal)
    if overhead:
        figure.limb(plane, (0.0, top - 0.1), (reach, top), 0.13, metal)
    figure.label(Kind.POLE, outlined=spot.outlined)
    if overhead:
        _signal_head(figure, plane, (reach, top - 0.2), burning)
    _signal_head(figure, plane, (0.0, min(top, 3.5)), burning)
    figure.label(Kind.TRAFFIC_LIGHT, outlined=spot.outlined)


def _signal_head(figure: Figure, plane: Facing, top: Point, burning: int) -> None:
    x, up = top
    figure.box(plane, x - 0.25, up - 1.15, x + 0.25, up + 0.1, BLACK)
    for index, lamp in enumerate(_LAMPS):
        colour = lamp if index == burning else scaled(lamp, 0.26)
        figure.ellipse(plane, (x, up - 0.14 - index * 0.38), 0.15, 0.15, colour)


def paint_bin(stage: Stage, spot: Spot, dice: Dice) -> None:
    """A bin: none of the classes, so its pixels are void."""
    plane = Facing(stage.camera, spot.x, spot.depth)
    colour = varied(dice, dice.choice(METAL))
    paint_shadow(stage, spot, 0.35, 0.2)
    figure = Figure(stage)
    figure.polygon(plane, ((-0.26, 0.0), (0.26, 0.0), (0.32, 0.95), (-0.32, 0.95)), colour)
    figure.box(plane, -0.35, 0.92, 0.35, 1.05, scaled(colour, 0.7))
    figure.label(IGNORE)


# Plants

_BARK: Colour = (86, 70, 58)


def paint_tree(stage: Stage, spot: Spot, dice: Dice) -> None:
    """A trunk, which is vegetation too, under a crown of leaves."""
    plane = Facing(stage.camera, spot.x, spot.depth)
    stem, crown = dice.between(1.8, 3.2), dice.between(1.2, 2.4)
    paint_shadow(stage, spot, crown * 0.8, 0.6)
    figure = Figure(stage)
    bark = varied(dice, _BARK)
    figure.polygon(plane, ((-0.2, 0.0), (0.2, 0.0), (0.12, stem + crown), (-0.12, stem + crown)), bark)
    figure.polygon(
        plane, ((0.02, 0.0), (0.2, 0.0), (0.12, stem + crown), (0.02, stem + crown)), bark, shade=0.75
    )
    figure.label(Kind.VEGETATION)
    tall = crown * dice.between(0.9, 1.5)
    _paint_leaves(stage, spot, stem + tall * 0.9, crown, tall, dice)


def paint_bush(stage: Stage, spot: Spot, dice: Dice) -> None:
    radius = dice.between(0.5, 1.1)
    paint_shadow(stage, spot, radius, 0.4)
    _paint_leaves(stage, spot, radius * 0.6, radius, radius * 0.8, dice)


def _paint_leaves(stage: Stage, spot: Spot, up: float, across: float, tall: float, dice: Dice) -> None:
    """A ragged ellipse of leaves around the height `up`, in the sun on top and in shade below."""
    camera, canvas = stage.camera, stage.canvas
    scale = camera.focal / spot.depth
    x, y = camera.point(spot.x, up, spot.depth)
    wide, high = across * scale, tall * scale
    box = canvas.box(
        x - wide * 1.4, y - high * 1.4, x + wide * 1.4, min(y + high * 1.4, camera.y(0, spot.depth))
    )
    colour, offset = varied(dice, dice.choice(LEAVES)), dice.between(0, 200)
    if box is None:
        return
    right, down = (canvas.columns[:, box[1]] - x) / wide, (canvas.rows[box[0]] - y) / high
    texel = 40.0 * across
    clumps = looked_up(blotches(), down * texel + offset, right * texel + offset)
    leaves = looked_up(grain(), down * texel * 0.8, right * texel * 0.8 + offset)
    reach = np.sqrt(right * right + down * down) - 1.0 + 0.32 * clumps + 0.12 * leaves
    cover = (0.5 - reach * min(wide, high)).clip(0.0, 1.0)
    sunlit = 0.9 - 0.28 * down - 0.12 * right * -stage.light.sun_side + 0.3 * clumps + 0.3 * leaves
    shaded = as_planes(stage.light.on(colour, spot.depth)) * sunlit.clip(0.25, 1.6)
    canvas.blend(box, shaded, cover)
    canvas.mark(box, Kind.VEGETATION, cover, outlined=spot.outlined)
