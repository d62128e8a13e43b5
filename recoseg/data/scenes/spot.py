"""Where a thing stands on the street, and the shadow that it casts there."""

from __future__ import annotations

from dataclasses import dataclass

from recoseg.data.scenes.camera import Facing
from recoseg.data.scenes.canvas import Stage
from recoseg.data.scenes.colours import BLACK
from recoseg.data.scenes.figure import Figure


@dataclass(frozen=True)
class Spot:
    """A place on the ground, in metres; what is `outlined` has a void border, as careful annotators leave."""

    x: float
    depth: float
    outlined: bool = False


def paint_shadow(stage: Stage, spot: Spot, half_width: float, half_depth: float) -> None:
    """A flat dark ellipse; in sunshine it leans away from the sun. It changes no label."""
    camera, light = stage.camera, stage.light
    flat = half_depth * camera.eye / spot.depth * 2  # how high an ellipse on the ground looks
    lean = -light.sun_side * half_width * light.shadow * 2
    plane = Facing(camera, spot.x, spot.depth)
    figure = Figure(stage)
    figure.ellipse(
        plane,
        (lean, 0.0),
        half_width * (1.0 + light.shadow),
        flat,
        BLACK,
        opacity=0.3 + light.shadow / 2,
        ghost=True,
    )
