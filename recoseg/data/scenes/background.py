"""What things stand before, from far to near: sky, skyline, ground, and the fronts along the street."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recoseg.data.scenes.buildings import Facade, paint_barrier, paint_facade
from recoseg.data.scenes.dice import Dice
from recoseg.data.scenes.paint import (
    LEAVES,
    MASONRY,
    PAVING,
    Colour,
    Floats,
    as_planes,
    blotches,
    grain,
    looked_up,
    mixed,
    scaled,
    value_noise,
    varied,
)
from recoseg.data.scenes.shapes import facing_surface, receding_surface
from recoseg.data.scenes.stage import Box, Kind, Stage
from recoseg.data.scenes.street import Plot, Side, Street, plant_behind

# Sky and skyline


def paint_sky(stage: Stage, dice: Dice) -> None:
    canvas, light = stage.canvas, stage.light
    fall = (canvas.rows / stage.camera.horizon).clip(0.0, 1.0)  # (H, 1): 0 at the top, 1 at the horizon
    sky = as_planes(light.zenith) + (as_planes(light.haze) - as_planes(light.zenith)) * (fall * fall)
    shape = (canvas.height, canvas.width)
    clouds = value_noise(dice, *shape, 7, 5) * 0.6 + value_noise(dice, *shape, 22, 14) * 0.4
    thickness = ((clouds - 0.75 + 0.5 * light.clouds) * 3.0).clip(0.0, 1.0) * (1.0 - 0.6 * fall)
    cloud = mixed(light.haze, (255 * light.sun[0], 255 * light.sun[1], 255 * light.sun[2]), 0.5)
    canvas.image[:] = sky + (as_planes(cloud) * (0.82 + 0.25 * clouds) - sky) * thickness
    canvas.labels[:] = Kind.SKY


def paint_skyline(stage: Stage, dice: Dice) -> None:
    """Distant blocks and tree tops along the horizon, pale with haze."""
    for kind, colours in ((Kind.BUILDING, MASONRY), (Kind.VEGETATION, LEAVES)):
        highest = dice.between(0.0, 0.2 if kind == Kind.BUILDING else 0.13) * stage.canvas.height
        colour = mixed(varied(dice, dice.choice(colours)), stage.light.haze, dice.between(0.2, 0.6))
        steps = dice.bytes(24).astype(np.float32) / 255.0
        _paint_silhouette(stage, kind, steps * highest, scaled(colour, stage.light.sun[1]), dice)


def _paint_silhouette(
    stage: Stage, kind: Kind, steps: Floats,
    colour: Colour, dice: Dice,
) -> None:  # fmt: skip
    """`steps` are heights in pixels of equally wide blocks; tree tops run smoothly from one to the next."""
    canvas = stage.canvas
    position = np.arange(canvas.width, dtype=np.float32) * (len(steps) - 1) / canvas.width
    block = position.astype(np.int64)
    height = steps[block]
    if kind == Kind.VEGETATION:
        inside = position - block.astype(np.float32)
        height = height + (steps[block + 1] - height) * inside
        height = height + value_noise(dice, 1, canvas.width, 1, 64)[0] * 0.03 * canvas.height
    box = (slice(0, canvas.height), slice(0, canvas.width))
    above = stage.camera.horizon + 1.0 - canvas.rows
    cover = (height[None, :] - above + 0.5).clip(0.0, 1.0) * (above > -1.0) * (height > 1.0)[None, :]
    canvas.blend(box, as_planes(colour), cover)
    canvas.mark(box, kind, cover)


# The ground: road with markings, kerbs, sidewalks, lawns, and the shadows that buildings cast on it

_PAINTED: Colour = (226, 224, 214)


@dataclass(frozen=True)
class _Ground:
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
    ground = _Ground(
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


def _sidewalk(ground: _Ground, dice: Dice) -> Floats:
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


def _asphalt(ground: _Ground, dice: Dice) -> Floats:
    """(3, h, W): coarse grain, stains, and now and then a repaired patch."""
    tone = 1.0 + _stains(ground, 0.12)
    if dice.chance(0.5):
        near, left = dice.between(5, 14), dice.between(-4, 2)
        patch = ground.between(left, left + dice.between(0.8, 2.5)) * ground.across(
            near, near + dice.between(2, 6)
        )
        tone = tone - dice.between(-0.12, 0.2) * patch
    return as_planes(varied(dice, dice.choice(PAVING), 18)) * tone


def _stains(ground: _Ground, strength: float) -> Floats:
    seen = (ground.scale / 24).clip(0.0, 1.0)
    fine = looked_up(grain(), ground.depth * 28.0, ground.x * 28.0) * (seen * strength)
    return fine + looked_up(blotches(), ground.depth * 8.0, ground.x * 16.0) * strength


def _lawn(ground: _Ground, street: Street, colours: Floats, dice: Dice) -> Floats:
    """Grass behind the sidewalks, or on a strip of them; returns how much of each pixel (h, W) it covers."""
    cover = np.zeros_like(ground.x)
    for side in street.sides:
        edge = side.front - (dice.between(0.6, 1.2) if dice.chance(0.25) else 0.0)
        span = (edge, 1e6) if side.sign > 0 else (-1e6, -edge)
        cover = np.maximum(cover, ground.between(*span))
    blades = 1.0 + 0.3 * looked_up(grain(), ground.depth * 20.0, ground.x * 40.0) + _stains(ground, 0.1)
    colours += (as_planes(varied(dice, dice.choice(LEAVES))) * blades - colours) * cover
    return cover


def _add_kerb(ground: _Ground, side: Side, colours: Floats) -> None:
    inner, outer = side.sign * side.kerb, side.sign * (side.kerb + 0.22)
    stone = ground.between(min(inner, outer), max(inner, outer))
    colours += (as_planes((158, 156, 152)) - colours) * (stone * 0.75)
    gutter = ground.between(min(inner, inner - side.sign * 0.2), max(inner, inner - side.sign * 0.2))
    colours *= 1.0 - 0.25 * gutter


def _add_markings(ground: _Ground, street: Street, colours: Floats, dice: Dice) -> None:
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
        colours += (as_planes(_PAINTED) - colours) * (layer * wear)


def _add_shadows(stage: Stage, ground: _Ground, street: Street, colours: Floats) -> None:
    """The buildings on the sunny side darken the ground before them, as far as they are high."""
    light = stage.light
    side = street.left if light.sun_side < 0 else street.right
    heights = np.array([side.shadow_height(float(depth)) for depth in ground.depth[:, 0]], dtype=np.float32)
    reach = (heights * 0.55)[:, None]  # (h, 1)
    from_front = side.front - ground.x * side.sign
    dark = ((reach - from_front) * ground.scale * 0.5 + 0.5).clip(0.0, 1.0) * (heights > 0)[:, None]
    colours *= 1.0 - light.shadow * dark


# The fronts on both sides of the street

_END_WALL = 10.0  # metres that a building reaches back from the street


def paint_fronts(stage: Stage, street: Street, dice: Dice) -> None:
    """The end of the street, then on each side the row behind and the row in front, far before near."""
    if street.end is not None:
        left, right = -street.left.behind_at - 12.0, street.right.behind_at + 12.0
        surface = facing_surface(stage, left, right, street.length + 6.0, street.end.height)
        paint_facade(stage, surface, street.end, 0.9)
    for side in street.sides:
        seen = [plot for plot in side.behind if not _is_hidden(plot, side, stage.camera.eye)]
        _paint_row(stage, side, seen, side.behind_at)
        for tree in plant_behind(side, dice):
            tree.paint(stage, tree.spot, tree.dice)
        _paint_row(stage, side, side.plots, side.front)


def _is_hidden(plot: Plot, side: Side, eye: float) -> bool:
    """Whether the front row hides all of a plot of the row behind."""
    if plot.front is None:
        return True
    shrink = side.front / side.behind_at  # by so much nearer is what hides it
    near, far = plot.near * side.front / (side.behind_at + _END_WALL), plot.far * shrink
    hidden_to = max(near, side.plots[0].near)
    for cover in side.plots:
        tall = (
            isinstance(cover.front, Facade) and cover.front.height - eye >= (plot.front.height - eye) * shrink
        )
        if tall and cover.near <= hidden_to:
            hidden_to = max(hidden_to, cover.far)
    return hidden_to >= far


def _paint_row(stage: Stage, side: Side, plots: Sequence[Plot], distance: float) -> None:
    """One row of fronts `distance` metres aside, from far to near."""
    shade, inner = stage.light.side_shade(side.sign), side.sign * distance
    for index, plot in reversed(list(enumerate(plots))):
        if isinstance(plot.front, Facade):
            _paint_end_wall(stage, side, plot, plots[index - 1] if index else None, distance)
            surface = receding_surface(stage, inner, plot.near, plot.far, plot.front.height)
            paint_facade(stage, surface, plot.front, shade)
        elif plot.front is not None:
            surface = receding_surface(stage, inner, plot.near, plot.far, plot.front.height * 1.2)
            paint_barrier(stage, surface, plot.front, shade)


def _paint_end_wall(stage: Stage, side: Side, plot: Plot, nearer: Plot | None, distance: float) -> None:
    """The wall of a building that faces us: not seen behind a taller neighbour, blank above a lower one."""
    neighbour = nearer.front if nearer is not None and nearer.far == plot.near else None
    hidden_to = neighbour.height if isinstance(neighbour, Facade) else 0.0
    if not isinstance(plot.front, Facade) or hidden_to >= plot.front.height:
        return
    outer, inner = side.sign * (distance + _END_WALL), side.sign * distance
    wall = facing_surface(stage, min(outer, inner), max(outer, inner), plot.near, plot.front.height)
    paint_facade(stage, wall, plot.front, 0.88, blank=hidden_to > 0)
