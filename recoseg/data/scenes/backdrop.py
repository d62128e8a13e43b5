"""The background of a scene: sky, skyline, ground, and the walls along the street."""

from __future__ import annotations

import math

import numpy as np

from recoseg.data.scenes.canvas import Canvas
from recoseg.data.scenes.classes import Kind
from recoseg.data.scenes.random_draws import FINE, SOFT, Floats, RandomDraws, as_planes, draw_colour, texture

Pair = tuple[float, float]


def paint_sky(canvas: Canvas, draws: RandomDraws) -> None:
    """Paint the sky with clouds, and distant blocks and tree tops along the horizon."""
    height, width = canvas.labels.shape
    fall = (canvas.rows / canvas.horizon).clip(0.0, 1.0)  # (H, 1): 0 at the top, 1 at the horizon
    sky = canvas.zenith + (canvas.haze - canvas.zenith) * (fall * fall)
    across, start = canvas.columns * (100.0 / width), draws.between(0.0, 256.0)
    clouds = texture(SOFT, canvas.rows * (150.0 / height) + start, across)
    cover = (clouds * 1.5 + draws.between(-0.6, 0.6)).clip(0.0, 1.0) * (1.0 - 0.6 * fall)
    canvas.image[:] = sky + ((canvas.haze + canvas.sun * 255.0) * (0.47 + 0.08 * clouds) - sky) * cover
    canvas.labels[:] = Kind.SKY
    blocks = (Kind.BUILDING, "masonry", np.floor(across * 0.2) * 9.0)
    for kind, material, profile in (blocks, (Kind.VEGETATION, "leaves", across)):
        tops = texture(SOFT, np.full((1, 1), start), profile) + 0.6  # (1, W)
        above = tops * (draws.between(0.0, 0.12) * height) - (canvas.horizon - canvas.rows)
        colour = canvas.shine(as_planes(draw_colour(draws, material)), 0.0) * 0.6 + canvas.haze * 0.4
        cover = above.clip(0.0, 1.0) * (canvas.rows < canvas.horizon + 1.0) * (tops > 0.0)
        canvas.blend((slice(0, height), slice(0, width)), colour, cover, kind)


def paint_ground(canvas: Canvas, kerbs: Pair, fronts: Pair, draws: RandomDraws) -> None:
    """Paint the road between two `kerbs`, sidewalks up to the `fronts` (both x in metres), and grass."""
    first = int(canvas.horizon) + 1
    scale = (canvas.rows[first:] - canvas.horizon) / canvas.eye  # (h, 1) pixels per metre
    depth = canvas.focal / scale
    x = (canvas.columns - canvas.centre) / scale  # (h, W) metres

    # how much of each pixel (h, W) lies between two lines along the street
    walk, road, middle = (
        (np.minimum(x - left, right - x) * scale + 0.5).clip(0.0, 1.0)
        for left, right in (fronts, kerbs, (-1.9, -1.72))
    )
    joints = np.maximum(_bars(x, scale, 0.06), _bars(depth, scale * 0.3, 0.06))
    colours = as_planes(draw_colour(draws, "leaves")) * (1.0 + 0.3 * texture(FINE, depth * 20.0, x * 40.0))
    colours += (as_planes(draw_colour(draws, "paving")) * (1.0 - 0.3 * joints) - colours) * walk
    colours += (as_planes(draw_colour(draws, "paving")) - colours) * road
    dashes = middle * (0.18 * scale).clip(0.0, 1.0) * _bars(depth / 6.0, scale * 2.0, 0.5)
    stripes = _bars(x, scale, 0.5) * road * (np.abs(depth - draws.between(6.0, 60.0)) < 1.6)
    paint = np.maximum(dashes, stripes) * draws.between(0.3, 0.9)
    colours += (as_planes((220, 218, 208)) - colours) * paint
    grit = texture(FINE, depth * 28.0, x * 28.0) * (scale / 24).clip(0.0, 1.0)
    colours *= 1.0 + 0.1 * (grit + texture(SOFT, depth * 8.0, x * 16.0))
    canvas.image[:, first:] = canvas.shine(colours, depth)
    beside = np.where(walk >= 0.5, Kind.SIDEWALK, Kind.VEGETATION)
    canvas.labels[first:] = np.where(road >= 0.5, Kind.ROAD, beside)


def _bars(position: Floats, pixels: Floats, share: float) -> Floats:
    """Return bars over a `share` of each unit of `position`, blurred where a unit has few `pixels`."""
    phase = position - np.floor(position) - 0.5  # 0 in the middle of a bar
    sharp = ((share / 2 - np.abs(phase)) * pixels + 0.5).clip(0.0, 1.0)
    return np.asarray(share + (sharp - share) * (pixels / 2 - 0.5).clip(0.0, 1.0))


def paint_wall(canvas: Canvas, kind: Kind, start: Pair, end: Pair, draws: RandomDraws) -> None:
    """Paint the front of a building, a wall, a fence or a hedge, left to right on the image.

    Its ends are (x, depth). A column of the image, x = k * depth, meets it at x0 + s dx = k (z0 + s dz).
    """
    height = draws.between(7.0, 22.0) if kind == Kind.BUILDING else draws.between(1.3, 2.6)
    (x0, z0), (x1, z1) = start, end
    (left, _), (right, _) = canvas.project((x0, 0.0, z0)), canvas.project((x1, 0.0, z1))
    top, bottom = (canvas.project((0.0, up, min(z0, z1)))[1] for up in (height, 0.0))
    box = canvas.box(left, top, right, bottom)
    if box is None or right - left < 0.5:
        return
    columns, dx, dz = canvas.columns[:, box[1]], x1 - x0, z1 - z0
    k = ((columns - canvas.centre) / canvas.focal).clip(x0 / z0, x1 / z1)
    length, facing = math.sqrt(dx * dx + dz * dz), dx - k * dz
    share = (k * z0 - x0) / facing  # (1, w)
    depth = z0 + share * dz
    up_scale = canvas.focal / depth  # (1, w) pixels per metre, as the next
    along_scale = canvas.focal * facing * facing / (length * (z0 * dx - x0 * dz))
    along, up = share * length, canvas.eye - (canvas.rows[box[0]] - canvas.horizon) / up_scale  # metres
    edge = (np.minimum(columns - left, right - columns) + 0.5).clip(0.0, 1.0)
    cover = (np.minimum(height - up, up) * up_scale + 0.5).clip(0.0, 1.0) * edge
    material, grain, rough = ("leaves", FINE, 0.3) if kind == Kind.VEGETATION else ("masonry", SOFT, 0.12)
    colours = as_planes(draw_colour(draws, material)) * (
        1.0 + rough * texture(grain, up * 24.0, along * 24.0)
    )
    opacity: Floats | float = 1.0
    if kind == Kind.FENCE:
        opacity = np.maximum(_bars(along * 5.0, along_scale / 5.0, 0.45), _bars(up, up_scale, 0.15))
    if kind == Kind.WALL:
        colours *= 1.0 - 0.25 * _bars(up * 2.5, up_scale / 2.5, 0.2)
    if kind == Kind.BUILDING:
        bay, storey, window = draws.between(1.8, 3.4), draws.between(2.8, 3.8), draws.between(0.4, 0.75)
        windows = _bars(along / bay, along_scale * bay, window) * _bars(up / storey, up_scale * storey, 0.55)
        panes = texture(FINE, np.floor(up / storey) * 11.0, np.floor(along / bay) * 7.0 + height * 9.0)
        windows *= (up > storey) & (up < height - 0.6)
        colours += (as_planes(draw_colour(draws, "glass")) * (1.0 + 0.5 * panes) - colours) * windows
    canvas.blend(box, canvas.shine(colours, depth, dz), cover, kind, opacity)
