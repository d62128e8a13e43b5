"""Walls, fences and hedges: what closes the gaps between buildings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recoseg.data.scenes.canvas import Stage
from recoseg.data.scenes.classes import Kind
from recoseg.data.scenes.colours import LEAVES, MASONRY, METAL, Colour, scaled, varied
from recoseg.data.scenes.dice import Dice
from recoseg.data.scenes.light import Floats, as_planes
from recoseg.data.scenes.surface import Surface
from recoseg.data.scenes.texture import blotches, grain, looked_up

WOOD: tuple[Colour, ...] = ((128, 98, 70), (96, 76, 60), (222, 220, 212))


@dataclass(frozen=True)
class Barrier:
    """One stretch of wall, fence or hedge. `pitch` is the width of a slab, or from bar to bar."""

    kind: Kind
    height: float
    colour: Colour
    pitch: float
    brick: bool
    solid: float  # of a fence: the share of its area that bars take

    @classmethod
    def drawn(cls, dice: Dice, kind: Kind) -> Barrier:
        wooden = dice.chance(0.4)
        colours = {Kind.WALL: MASONRY, Kind.FENCE: WOOD if wooden else METAL, Kind.VEGETATION: LEAVES}
        return cls(
            kind=kind,
            height=dice.between(1.3, 3.2) if kind == Kind.WALL else dice.between(1.0, 2.3),
            colour=varied(dice, dice.choice(colours[kind]), 18),
            pitch=dice.between(2.0, 4.0) if kind == Kind.WALL else dice.between(0.22, 0.4),
            brick=dice.chance(0.5),
            solid=0.72 if wooden else dice.between(0.28, 0.4),
        )


def paint_barrier(stage: Stage, surface: Surface | None, barrier: Barrier, shade: float) -> None:
    if surface is None:
        return
    painter = {Kind.WALL: _wall, Kind.FENCE: _fence, Kind.VEGETATION: _hedge}[barrier.kind]
    colours, cover, opacity = painter(surface, barrier)
    lit = stage.light.over(colours, surface.depth, shade)
    stage.canvas.blend(surface.box, lit, cover * opacity)
    stage.canvas.mark(surface.box, barrier.kind, cover)


def _wall(surface: Surface, barrier: Barrier) -> tuple[Floats, Floats, Floats | float]:
    """Brick or concrete slabs with a coping on top."""
    tone = 1.0 + 0.14 * looked_up(blotches(), surface.up * 20.0, surface.along * 20.0)
    tone = tone - 0.25 * surface.columns(barrier.pitch, 0.05)
    if barrier.brick:
        tone = tone - 0.22 * surface.courses(0.28, 0.3)
    coping = surface.above(barrier.height - 0.2)
    colours = as_planes(barrier.colour) * (tone + 0.2 * coping)
    return colours, surface.below(barrier.height), 1.0


def _fence(surface: Surface, barrier: Barrier) -> tuple[Floats, Floats, Floats | float]:
    """Bars or pickets between two rails; one sees through, but the gaps are fence as well."""
    bars = surface.columns(barrier.pitch, barrier.solid)
    posts = surface.columns(2.4, 0.07)
    rails = np.zeros_like(surface.up)
    for share in (0.15, 0.88):
        away = np.abs(surface.up - barrier.height * share)
        rails = np.maximum(rails, ((0.06 - away) * surface.up_pixels + 0.5).clip(0.0, 1.0))
    opacity = np.maximum(np.maximum(bars, posts), rails)
    return as_planes(barrier.colour) * (0.9 + 0.2 * rails), surface.below(barrier.height), opacity


def _hedge(surface: Surface, barrier: Barrier) -> tuple[Floats, Floats, Floats | float]:
    """Leaves, darker towards the ground, with an uneven top."""
    leaves = looked_up(grain(), surface.up * 24.0, surface.along * 24.0)
    bulge = looked_up(blotches(), surface.along * 0.0, surface.along * 24.0)
    light = 0.75 + 0.35 * (surface.up / barrier.height).clip(0.0, 1.0) + 0.4 * leaves
    cover = surface.below(barrier.height * (1.0 + 0.1 * bulge) + 0.12 * leaves)
    return as_planes(scaled(barrier.colour, 0.9)) * light, cover, 1.0
