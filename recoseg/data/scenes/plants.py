"""Trees and bushes."""

from __future__ import annotations

import numpy as np

from recoseg.data.scenes.camera import Facing
from recoseg.data.scenes.canvas import Stage
from recoseg.data.scenes.classes import Kind
from recoseg.data.scenes.colours import LEAVES, Colour, varied
from recoseg.data.scenes.dice import Dice
from recoseg.data.scenes.figure import Figure
from recoseg.data.scenes.light import as_planes
from recoseg.data.scenes.spot import Spot, paint_shadow
from recoseg.data.scenes.texture import blotches, grain, looked_up

BARK: Colour = (86, 70, 58)


def paint_tree(stage: Stage, spot: Spot, dice: Dice) -> None:
    """A trunk, which is vegetation too, under a crown of leaves."""
    plane = Facing(stage.camera, spot.x, spot.depth)
    stem, crown = dice.between(1.8, 3.2), dice.between(1.2, 2.4)
    paint_shadow(stage, spot, crown * 0.8, 0.6)
    figure = Figure(stage)
    bark = varied(dice, BARK)
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
