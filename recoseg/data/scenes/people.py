"""People on foot, people on bicycles, and bicycles that wait for somebody."""

from __future__ import annotations

from recoseg.data.scenes.dice import Dice
from recoseg.data.scenes.paint import BLACK, CLOTH, HAIR, PAINT, SKIN, STEEL, TYRE, Colour, scaled, varied
from recoseg.data.scenes.shapes import Figure, Spot, paint_shadow
from recoseg.data.scenes.stage import Facing, Kind, Stage


def paint_person(stage: Stage, spot: Spot, dice: Dice) -> None:
    """Somebody who stands or walks: legs, coat or shirt, arms, head, perhaps a bag."""
    plane = Facing(stage.camera, spot.x, spot.depth, dice.sign())
    size = dice.between(1.05, 1.35) if dice.chance(0.15) else dice.between(1.58, 1.92)
    paint_shadow(stage, spot, 0.3 * size, 0.12)
    figure = Figure(stage)
    sideways = dice.chance(0.5)
    _legs(figure, plane, size, sideways, dice)
    _trunk(figure, plane, size, sideways, dice)
    _head(figure, plane, (0.02 * size if sideways else 0.0, 0.905 * size), size, dice)
    figure.label(Kind.PERSON, outlined=spot.outlined)


def _legs(figure: Figure, plane: Facing, size: float, sideways: bool, dice: Dice) -> None:
    trousers = varied(dice, dice.choice(CLOTH))
    stride = dice.between(0.05, 0.2) * size if sideways else dice.between(0.045, 0.07) * size
    for side, shade in ((-1, 0.78), (1, 1.0)):
        hip, foot = (0.035 * side * size, 0.5 * size), (side * stride, 0.04 * size)
        knee = ((hip[0] + foot[0]) / 2 + (0.03 * size if sideways else 0.0), 0.27 * size)
        figure.limb(plane, hip, knee, 0.1 * size, trousers, shade=shade)
        figure.limb(plane, knee, foot, 0.078 * size, trousers, shade=shade)
        toe = (foot[0] + (0.05 * size if sideways else 0.01 * side * size), 0.02 * size)
        figure.limb(plane, (foot[0], 0.02 * size), toe, 0.045 * size, BLACK)


def _trunk(figure: Figure, plane: Facing, size: float, sideways: bool, dice: Dice) -> None:
    cloth, half = varied(dice, dice.choice(CLOTH)), (0.085 if sideways else 0.125) * size
    hem = dice.choice((0.46, 0.46, 0.46, 0.3)) * size  # a shirt, or a long coat
    swing = dice.between(0.0, 0.13) * size if sideways else 0.165 * size
    _arm(figure, plane, (-half * 0.8, 0.79 * size), (-swing, 0.47 * size), size, scaled(cloth, 0.75))
    figure.polygon(
        plane, ((-half * 0.9, hem), (half * 0.9, hem), (half, 0.78 * size), (half * 0.6, 0.83 * size),
                (-half * 0.6, 0.83 * size), (-half, 0.78 * size)), cloth,
    )  # fmt: skip
    figure.polygon(
        plane, ((-half * 0.9, hem), (-half * 0.2, hem), (-half * 0.1, 0.82 * size), (-half, 0.78 * size)),
        cloth, shade=0.84,
    )  # fmt: skip
    _arm(figure, plane, (half * 0.8, 0.79 * size), (swing, 0.47 * size), size, scaled(cloth, 0.92))
    if dice.chance(0.3):
        left = swing - 0.03 * size
        bag = varied(dice, dice.choice(CLOTH))
        figure.box(plane, left, 0.3 * size, left + dice.between(0.08, 0.16) * size, 0.46 * size, bag)


def _arm(figure: Figure, plane: Facing, shoulder: tuple[float, float], hand: tuple[float, float], size: float,
         sleeve: Colour) -> None:  # fmt: skip
    figure.limb(plane, shoulder, hand, 0.065 * size, sleeve)
    figure.ellipse(plane, hand, 0.028 * size, 0.032 * size, SKIN[1])


def _head(figure: Figure, plane: Facing, centre: tuple[float, float], size: float, dice: Dice,
          helmet: Colour | None = None) -> None:  # fmt: skip
    skin, hair = dice.choice(SKIN), varied(dice, dice.choice(HAIR), 8)
    x, up = centre
    figure.limb(plane, (x, up - 0.1 * size), (x, up), 0.05 * size, scaled(skin, 0.8))
    figure.ellipse(plane, (x - 0.008 * size, up + 0.015 * size), 0.064 * size, 0.082 * size, hair)
    figure.ellipse(plane, (x + 0.012 * size, up - 0.012 * size), 0.052 * size, 0.066 * size, skin)
    if helmet is not None:
        figure.ellipse(plane, (x - 0.01 * size, up + 0.055 * size), 0.08 * size, 0.055 * size, helmet)


def paint_bicycle(stage: Stage, spot: Spot, dice: Dice) -> None:
    """A parked bicycle, seen from the side."""
    plane = Facing(stage.camera, spot.x, spot.depth, dice.sign())
    paint_shadow(stage, spot, 0.8, 0.08)
    figure = Figure(stage)
    _bicycle_side(figure, plane, varied(dice, dice.choice(PAINT)))
    figure.label(Kind.BICYCLE, outlined=spot.outlined)


def paint_rider(stage: Stage, spot: Spot, dice: Dice) -> None:
    """Somebody on a bicycle, seen from the side or from one end."""
    plane = Facing(stage.camera, spot.x, spot.depth, dice.sign())
    paint_shadow(stage, spot, 0.7, 0.12)
    figure = Figure(stage)
    frame, shirt, trousers = (varied(dice, dice.choice(c)) for c in (PAINT, CLOTH, CLOTH))
    helmet = varied(dice, dice.choice(PAINT)) if dice.chance(0.5) else None
    if dice.chance(0.6):
        _bicycle_side(figure, plane, frame)
        figure.label(Kind.BICYCLE, outlined=spot.outlined)
        _rider_side(figure, plane, shirt, trousers)
        _head(figure, plane, (0.3, 1.67), 1.75, dice, helmet)
    else:
        _bicycle_end(figure, plane, frame)
        figure.label(Kind.BICYCLE, outlined=spot.outlined)
        _rider_end(figure, plane, shirt, trousers)
        _head(figure, plane, (0.0, 1.68), 1.75, dice, helmet)
    figure.label(Kind.RIDER, outlined=spot.outlined)


def _bicycle_side(figure: Figure, plane: Facing, frame: Colour) -> None:
    """Two wheels, whose discs belong to the bicycle though one sees through the spokes, and a frame."""
    for x in (-0.53, 0.53):
        figure.ellipse(plane, (x, 0.35), 0.35, 0.35, STEEL, opacity=0.22)
        figure.ellipse(plane, (x, 0.35), 0.35, 0.35, TYRE, hole=0.8)
    saddle, pedals, head, bars = (-0.22, 0.92), (-0.06, 0.32), (0.36, 0.84), (0.36, 1.04)
    for start, end in ((saddle, pedals), (pedals, head), (saddle, head), ((-0.53, 0.35), pedals),
                       ((-0.53, 0.35), saddle), ((0.53, 0.35), head), (head, bars)):  # fmt: skip
        figure.limb(plane, start, end, 0.055, frame)
    figure.limb(plane, bars, (0.5, 1.06), 0.06, BLACK)
    figure.limb(plane, (-0.34, 0.95), (-0.12, 0.95), 0.08, BLACK)


def _rider_side(figure: Figure, plane: Facing, shirt: Colour, trousers: Colour) -> None:
    hip, shoulder, hand = (-0.2, 1.02), (0.16, 1.45), (0.46, 1.08)
    for knee, foot, shade in (((0.2, 0.68), (-0.12, 0.5), 0.72), ((0.16, 0.76), (-0.02, 0.2), 1.0)):
        figure.limb(plane, hip, knee, 0.18, trousers, shade=shade)
        figure.limb(plane, knee, foot, 0.13, trousers, shade=shade)
        figure.limb(plane, foot, (foot[0] + 0.12, foot[1] - 0.02), 0.08, BLACK)
    figure.limb(plane, hip, shoulder, 0.28, shirt)
    figure.limb(plane, shoulder, (0.3, 1.2), 0.11, shirt, shade=0.85)
    figure.limb(plane, (0.3, 1.2), hand, 0.09, shirt, shade=0.85)


def _bicycle_end(figure: Figure, plane: Facing, frame: Colour) -> None:
    figure.ellipse(plane, (0.0, 0.36), 0.07, 0.36, TYRE)
    figure.limb(plane, (0.0, 0.5), (0.0, 1.0), 0.08, frame)
    figure.limb(plane, (-0.3, 1.04), (0.3, 1.04), 0.07, BLACK)
    figure.limb(plane, (-0.16, 0.28), (0.16, 0.34), 0.05, BLACK)


def _rider_end(figure: Figure, plane: Facing, shirt: Colour, trousers: Colour) -> None:
    for side, knee, foot in ((-1, 0.72, 0.22), (1, 0.8, 0.42)):
        figure.limb(plane, (0.1 * side, 0.98), (0.17 * side, knee), 0.17, trousers)
        figure.limb(plane, (0.17 * side, knee), (0.14 * side, foot), 0.12, trousers, shade=0.85)
        figure.limb(plane, (0.22 * side, 1.42), (0.31 * side, 1.2), 0.11, shirt, shade=0.85)
        figure.limb(plane, (0.31 * side, 1.2), (0.27 * side, 1.06), 0.09, shirt, shade=0.85)
    right = ((0.17, 0.92), (0.24, 1.44), (0.12, 1.53))
    figure.polygon(plane, [*right, *((-x, up) for x, up in reversed(right))], shirt)
