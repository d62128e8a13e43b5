"""The ground: road with its markings, kerbs, sidewalks, lawns, and the shadows that buildings cast on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recoseg.data.scenes.canvas import Box, Stage
from recoseg.data.scenes.classes import Kind
from recoseg.data.scenes.colours import LEAVES, PAVING, Colour, varied
from recoseg.data.scenes.dice import Dice
from recoseg.data.scenes.light import Floats, as_planes
from recoseg.data.scenes.street import Side, Street
from recoseg.data.scenes.texture import blotches, grain, looked_up

PAINTED: Colour = (226, 224, 214)


@dataclass(frozen=True)
class Ground:
    """The pixels below the horizon and where they lie, in metres."""

    box: Box
    depth: Floats  # (h, 1)
    x: Floats  # (h, W)
    scale: Floats  # (h, 1) pixels per metre

    def between(self, left: float, right: float) -> Floats:
        """(h, W): how much of each pixel lies between two lines along the street."""
        cover = np.minimum(self.x - left, right - self.x) * self.scale + 0.5
        narrow: Floats = ((right - left) * self.scale).clip(
            0.0, 1.0
        )  # a line thinner than a pixel is fainter
        inside: Floats = np.maximum(np.minimum(cover, narrow), 0.0)
        return inside

    def across(self, near: float, far: float) -> Floats:
        """(h, 1): 1 in the rows from depth `near` to `far`."""
        return ((self.depth >= near) & (self.depth < far)).astype(np.float32)


def paint_ground(stage: Stage, street: Street, dice: Dice) -> None:
    canvas, camera = stage.canvas, stage.camera
    first = max(int(camera.horizon) + 1, 0)
    below = canvas.rows[first:] - camera.horizon
    ground = Ground(
        box=(slice(first, canvas.height), slice(0, canvas.width)),
        depth=camera.focal * camera.eye / below,
        x=(canvas.columns - camera.centre) * (camera.eye / below),
        scale=below / camera.eye,
    )
    road = ground.between(-street.left.kerb, street.right.kerb)
    colours = _sidewalk(ground, dice)
    lawn = _lawn(ground, street, colours, dice)
    colours += (_asphalt(ground, dice) - colours) * road
    for side in street.sides:
        _add_kerb(ground, side, colours)
    _add_markings(ground, street, colours, dice)
    _add_shadows(stage, ground, street, colours)
    canvas.image[:, first:] = stage.light.over(colours, ground.depth)
    canvas.labels[first:] = Kind.SIDEWALK
    canvas.mark(ground.box, Kind.VEGETATION, lawn)
    canvas.mark(ground.box, Kind.ROAD, road)


def _sidewalk(ground: Ground, dice: Dice) -> Floats:
    """(3, h, W): slabs with joints between them, each a little different."""
    slab = dice.between(0.6, 1.2)
    across, along = ground.x / slab, ground.depth / slab
    seen = (ground.scale * slab / 8 - 0.4).clip(0.0, 1.0)
    edge = np.minimum(_from_joint(across), _from_joint(along)) * slab
    joint = ((0.03 - edge) * ground.scale + 0.5).clip(0.0, 1.0) * seen
    tint = looked_up(grain(), np.floor(along) * 7.0, np.floor(across) * 5.0) * seen
    tone: Floats = 1.0 + 0.1 * tint - 0.3 * joint + _stains(ground, 0.1)
    return as_planes(varied(dice, dice.choice(PAVING), 18)) * tone


def _from_joint(position: Floats) -> Floats:
    """How far a position is from the nearest whole number."""
    inside: Floats = position - np.floor(position) - 0.5
    return 0.5 - np.abs(inside)


def _asphalt(ground: Ground, dice: Dice) -> Floats:
    """(3, h, W): coarse grain, stains, and now and then a repaired patch."""
    tone = 1.0 + _stains(ground, 0.12)
    if dice.chance(0.5):
        near, left = dice.between(5, 14), dice.between(-4, 2)
        patch = ground.between(left, left + dice.between(0.8, 2.5)) * ground.across(
            near, near + dice.between(2, 6)
        )
        tone = tone - dice.between(-0.12, 0.2) * patch
    return as_planes(varied(dice, dice.choice(PAVING), 18)) * tone


def _stains(ground: Ground, strength: float) -> Floats:
    seen = (ground.scale / 24).clip(0.0, 1.0)
    fine = looked_up(grain(), ground.depth * 28.0, ground.x * 28.0) * (seen * strength)
    return fine + looked_up(blotches(), ground.depth * 8.0, ground.x * 16.0) * strength


def _lawn(ground: Ground, street: Street, colours: Floats, dice: Dice) -> Floats:
    """Grass behind the sidewalks, or on a strip of them; returns how much of each pixel (h, W) it covers."""
    cover = np.zeros_like(ground.x)
    for side in street.sides:
        edge = side.front - (dice.between(0.6, 1.2) if dice.chance(0.25) else 0.0)
        span = (edge, 1e6) if side.sign > 0 else (-1e6, -edge)
        cover = np.maximum(cover, ground.between(*span))
    blades = 1.0 + 0.3 * looked_up(grain(), ground.depth * 20.0, ground.x * 40.0) + _stains(ground, 0.1)
    colours += (as_planes(varied(dice, dice.choice(LEAVES))) * blades - colours) * cover
    return cover


def _add_kerb(ground: Ground, side: Side, colours: Floats) -> None:
    inner, outer = side.sign * side.kerb, side.sign * (side.kerb + 0.22)
    stone = ground.between(min(inner, outer), max(inner, outer))
    colours += (as_planes((158, 156, 152)) - colours) * (stone * 0.75)
    gutter = ground.between(min(inner, inner - side.sign * 0.2), max(inner, inner - side.sign * 0.2))
    colours *= 1.0 - 0.25 * gutter


def _add_markings(ground: Ground, street: Street, colours: Floats, dice: Dice) -> None:
    """Dashes between the lanes, a line beside parked cars, and sometimes a crossing."""
    wear = dice.between(0.35, 0.9)
    layers = []
    if dice.chance(0.8):
        middle = -dice.between(1.6, 2.0)
        phase = (ground.depth + dice.between(0, 6)) / 6.0
        dashes = (phase - np.floor(phase) < 0.55).astype(np.float32)
        layers.append(ground.between(middle - 0.09, middle + 0.09) * (1.0 if dice.chance(0.3) else dashes))
    for side in street.sides:
        if side.parking and dice.chance(0.6):
            line = side.sign * (side.kerb - 2.2)
            layers.append(ground.between(line - 0.06, line + 0.06))
    if dice.chance(0.35):
        near = dice.between(6, 24)
        bars = (ground.x - np.floor(ground.x) < 0.5).astype(np.float32)
        inside = ground.between(-street.left.kerb + 0.3, street.right.kerb - 0.3)
        layers.append(bars * inside * ground.across(near, near + 3.2))
    for layer in layers:
        colours += (as_planes(PAINTED) - colours) * (layer * wear)


def _add_shadows(stage: Stage, ground: Ground, street: Street, colours: Floats) -> None:
    """The buildings on the sunny side darken the ground before them, as far as they are high."""
    light = stage.light
    side = street.left if light.sun_side < 0 else street.right
    heights = np.array([side.shadow_height(float(depth)) for depth in ground.depth[:, 0]], dtype=np.float32)
    reach = (heights * 0.55)[:, None]  # (h, 1)
    from_front = side.front - ground.x * side.sign
    dark = ((reach - from_front) * ground.scale * 0.5 + 0.5).clip(0.0, 1.0) * (heights > 0)[:, None]
    colours *= 1.0 - light.shadow * dark
