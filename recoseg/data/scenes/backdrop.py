"""What is far away: the sky with its clouds, a skyline, and the fronts on both sides of the street."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recoseg.data.scenes.barriers import paint_barrier
from recoseg.data.scenes.canvas import Stage
from recoseg.data.scenes.classes import Kind
from recoseg.data.scenes.colours import LEAVES, MASONRY, Colour, mixed, scaled, varied
from recoseg.data.scenes.dice import Dice
from recoseg.data.scenes.facade import Facade, paint_facade
from recoseg.data.scenes.layout import plant_behind
from recoseg.data.scenes.light import Floats, as_planes
from recoseg.data.scenes.street import Plot, Side, Street
from recoseg.data.scenes.surface import facing_surface, receding_surface
from recoseg.data.scenes.texture import value_noise

END_WALL = 10.0  # metres that a building reaches back from the street


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
    near, far = plot.near * side.front / (side.behind_at + END_WALL), plot.far * shrink
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
    outer, inner = side.sign * (distance + END_WALL), side.sign * distance
    wall = facing_surface(stage, min(outer, inner), max(outer, inner), plot.near, plot.front.height)
    paint_facade(stage, wall, plot.front, 0.88, blank=hidden_to > 0)
