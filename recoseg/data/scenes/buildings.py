"""What lines a street: fronts of buildings, and walls, fences and hedges in the gaps between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recoseg.data.scenes.dice import Dice
from recoseg.data.scenes.paint import (
    GLASS,
    LEAVES,
    MASONRY,
    METAL,
    PAINT,
    Colour,
    Floats,
    as_planes,
    blotches,
    grain,
    looked_up,
    mixed,
    scaled,
    varied,
)
from recoseg.data.scenes.shapes import Surface
from recoseg.data.scenes.stage import Kind, Stage

# Fronts: masonry, rows of windows, cornices, shops and doors on the ground floor

_LAMPLIGHT: Colour = (250, 214, 140)


@dataclass(frozen=True)
class Facade:
    """The style of one building; lengths in metres, shares of a bay or storey."""

    height: float
    masonry: Colour
    trim: Colour
    storey: float
    bay: float
    window_width: float
    window_height: float
    cornice: float
    brick: bool
    shop: Colour | None
    panes: Floats  # (3, 64) the colours of the windows, repeated

    @classmethod
    def drawn(cls, dice: Dice, lit_windows: float) -> Facade:
        masonry = varied(dice, dice.choice(MASONRY), 20)
        storey, storeys = dice.between(2.8, 3.8), dice.count(1, 6)
        office = dice.chance(0.2)  # mostly glass
        return cls(
            height=storey * storeys + dice.between(0.4, 1.6),
            masonry=masonry,
            trim=mixed(masonry, dice.choice(((230, 226, 216), (80, 76, 74))), dice.between(0.25, 0.6)),
            storey=storey,
            bay=dice.between(1.8, 3.4),
            window_width=0.86 if office else dice.between(0.34, 0.6),
            window_height=0.72 if office else dice.between(0.42, 0.6),
            cornice=dice.choice((0.0, 0.06, 0.1)),
            brick=dice.chance(0.4),
            shop=varied(dice, dice.choice(PAINT)) if dice.chance(0.4) else None,
            panes=_drawn_panes(dice, lit_windows),
        )


def _drawn_panes(dice: Dice, lit_windows: float) -> Floats:
    glass = as_planes(mixed(GLASS, (138, 160, 178), dice.between(0.0, 0.7)))
    dull, lit = dice.bytes(2, 1, 64)
    brightness = dull.astype(np.float32) * (0.6 / 255.0) + 0.6  # (1, 64)
    return np.where(lit < int(lit_windows * 255), as_planes(_LAMPLIGHT), glass * brightness)[:, 0]


def paint_facade(
    stage: Stage, surface: Surface | None, facade: Facade, shade: float, *, blank: bool = False
) -> None:
    """`blank` is for a wall that had a neighbour in mind: it has no windows."""
    if surface is None:
        return
    colours = as_planes(facade.masonry) * _weathering(surface, facade)
    if not blank:
        colours += (as_planes(facade.trim) - colours) * _trim(surface, facade)
        colours += (_panes(surface, facade) - colours) * _windows(surface, facade, 0.0)
        if facade.shop is not None:
            _add_shop(colours, surface, facade.shop)
    cover = surface.below(facade.height)
    stage.canvas.blend(surface.box, stage.light.over(colours, surface.depth, shade), cover)
    stage.canvas.mark(surface.box, Kind.BUILDING, cover)


def _weathering(surface: Surface, facade: Facade) -> Floats:
    """(h, w): the brightness of the bare wall, with stains and courses of brick."""
    tone = 1.0 + 0.1 * looked_up(blotches(), surface.up * 16.0, surface.along * 16.0)
    if facade.brick:
        tone -= 0.22 * surface.courses(0.3, 0.3)
    return tone


def _trim(surface: Surface, facade: Facade) -> Floats:
    """(h, w): where the frames of windows are, the edge of the roof, and a line above each storey."""
    trim = np.maximum(surface.above(facade.height - 0.5), _windows(surface, facade, 0.12))
    if facade.cornice:
        trim = np.maximum(trim, surface.courses(facade.storey, facade.cornice, start=facade.storey / 2))
    return trim


def _windows(surface: Surface, facade: Facade, margin: float) -> Floats:
    """(h, w): a window in each bay of each storey, and `margin` metres around it."""
    across = surface.columns(facade.bay, facade.window_width, margin)
    return across * surface.courses(facade.storey, facade.window_height, margin)


def _panes(surface: Surface, facade: Facade) -> Floats:
    """(3, h, w): glass that is a little different in each window, some with a lamp behind it."""
    row = (surface.up * (1.0 / facade.storey)).astype(np.int32) & 7
    column = (surface.along * (1.0 / facade.bay)).astype(np.int32) & 7
    return facade.panes.take(row * 8 + column, axis=1)


def _add_shop(colours: Floats, surface: Surface, paint: Colour) -> None:
    """A ground floor of large panes under a coloured sign board."""
    board, panes_end = surface.above(2.6), surface.above(2.5)
    ground = 1.0 - surface.above(3.3)
    panes = surface.columns(2.2, 0.84) * (surface.above(0.5) - panes_end)
    writing = surface.columns(0.5, 0.6) * surface.courses(0.5, 0.4, start=2.7) * board * ground
    layers = (
        (ground, scaled(paint, 0.7)),
        (panes, GLASS),
        (board * ground, paint),
        (writing, (235, 232, 220)),
    )
    for layer, colour in layers:
        colours += (as_planes(colour) - colours) * layer


# Walls, fences and hedges

_WOOD: tuple[Colour, ...] = ((128, 98, 70), (96, 76, 60), (222, 220, 212))


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
        colours = {Kind.WALL: MASONRY, Kind.FENCE: _WOOD if wooden else METAL, Kind.VEGETATION: LEAVES}
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
