"""One street scene from beginning to end, painted from far to near.

The same numbers give the same bytes on every machine: random choices come from raw PCG64 bits, and
pixels only go through operations that IEEE 754 rounds exactly (+ - * / and square root, one at a
time), comparisons and table look-ups: no exp, pow or sin, no matrix product, no sum over pixels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recoseg.data.scenes.backdrop import paint_fronts, paint_sky, paint_skyline
from recoseg.data.scenes.camera import Camera
from recoseg.data.scenes.canvas import Canvas, Stage
from recoseg.data.scenes.colours import PAINT, Colour, varied
from recoseg.data.scenes.dice import Dice
from recoseg.data.scenes.ground import paint_ground
from recoseg.data.scenes.layout import furnish
from recoseg.data.scenes.light import Light, as_planes
from recoseg.data.scenes.photograph import photograph
from recoseg.data.scenes.street import Street
from recoseg.types import IGNORE

Bytes = NDArray[np.uint8]


def draw_scene(*entropy: int, height: int, width: int) -> tuple[Bytes, Bytes]:
    """The image (3, H, W) and labels (H, W); at another size the same street from the same place."""
    dice = Dice(*entropy)
    stage = Stage(Canvas(height, width), Camera.placed(dice, height, width), Light.drawn(dice))
    street = Street.drawn(dice, stage.light.lit_windows)
    paint_sky(stage, dice.split())
    paint_skyline(stage, dice.split())
    paint_ground(stage, street, dice.split())
    paint_fronts(stage, street, dice.split())
    for thing in furnish(street, dice.split()):
        thing.paint(stage, thing.spot, thing.dice)
    if dice.chance(0.3):
        _paint_bonnet(stage, dice.split())
    return photograph(stage.canvas.image, dice.split(), dice.split()), stage.canvas.labels


def _paint_bonnet(stage: Stage, dice: Dice) -> None:
    """The front of the car that carries the camera, at the lower border: void."""
    canvas = stage.canvas
    rise, middle = canvas.height * dice.between(0.04, 0.1), canvas.width * dice.between(0.4, 0.6)
    aside = (canvas.columns - middle) / canvas.width  # (1, W)
    edge = canvas.height - rise * (1.0 - 2.5 * aside * aside)
    cover = (canvas.rows - edge).clip(0.0, 1.0)
    paint: Colour = stage.light.on(varied(dice, dice.choice(PAINT)), 1.0, 0.8)
    shine = 0.75 + 0.5 * (1.0 - (canvas.rows - edge) / rise).clip(0.0, 1.0)
    box = (slice(0, canvas.height), slice(0, canvas.width))
    canvas.blend(box, as_planes(paint) * shine, cover)
    canvas.mark(box, IGNORE, cover)
