"""Cars, buses and trucks in the lanes, at the kerb or crossing: which face is seen, and how it looks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from recoseg.data.scenes.dice import Dice
from recoseg.data.scenes.paint import BLACK, GLASS, PAINT, RED, STEEL, WHITE, Colour, mixed, scaled, varied
from recoseg.data.scenes.shapes import Figure, Spot
from recoseg.data.scenes.stage import Facing, Kind, OnScreen, Plane, Receding, Stage


@dataclass(frozen=True)
class _Vehicle:
    """A vehicle by its size in metres and how its faces are painted.

    `flank(figure, plane, shade)` paints a side, along from the back to the front of the vehicle;
    `back` and `front` paint an end, along from its middle.
    """

    kind: Kind
    length: float
    width: float
    flank: Callable[[Figure, Plane, float], None]
    back: Callable[[Figure, Facing, float], None]
    front: Callable[[Figure, Facing, float], None]


Maker = Callable[[Dice], _Vehicle]


def paint_along(stage: Stage, spot: Spot, dice: Dice, *, make: Maker, oncoming: bool) -> None:
    """A vehicle along the street with its near end at the spot: that end, and the flank towards us."""
    vehicle, light = make(dice), stage.light
    far = spot.depth + vehicle.length
    half = vehicle.width / 2
    _paint_ground_shadow(stage, spot.x, spot.depth, far, half)
    figure = Figure(stage)
    if abs(spot.x) > half:
        inner = spot.x - half if spot.x > 0 else spot.x + half
        flank = Receding(stage.camera, inner, far if oncoming else spot.depth, -1 if oncoming else 1)
        vehicle.flank(figure, flank, light.side_shade(1 if spot.x > 0 else -1) * 0.82)
    end = vehicle.front if oncoming else vehicle.back
    end(figure, Facing(stage.camera, spot.x, spot.depth), 1.0)
    figure.label(vehicle.kind, outlined=spot.outlined)


def paint_across(stage: Stage, spot: Spot, dice: Dice, *, make: Maker) -> None:
    """A vehicle that crosses the street: its flank, in full."""
    vehicle, direction = make(dice), dice.sign()
    half = vehicle.length / 2
    _paint_ground_shadow(stage, spot.x, spot.depth, spot.depth + vehicle.width, half)
    figure = Figure(stage)
    plane = Facing(stage.camera, spot.x - direction * half, spot.depth, direction)
    vehicle.flank(figure, plane, 0.95)
    figure.label(vehicle.kind, outlined=spot.outlined)


def _paint_ground_shadow(stage: Stage, x: float, near: float, far: float, half: float) -> None:
    """Dark ground under the vehicle and a little around it."""
    camera, reach = stage.camera, 0.15 + stage.light.shadow
    left = half + (reach if stage.light.sun_side > 0 else 0.1)
    right = half + (reach if stage.light.sun_side < 0 else 0.1)
    near = near - 0.2
    corners = [camera.point(x - left, 0.0, near), camera.point(x + right, 0.0, near),
               camera.point(x + right, 0.0, far), camera.point(x - left, 0.0, far)]  # fmt: skip
    Figure(stage).polygon(OnScreen(near), corners, BLACK, opacity=0.45 + stage.light.shadow / 2, ghost=True)


def _paint_wheel(figure: Figure, plane: Plane, along: float, radius: float) -> None:
    figure.ellipse(plane, (along, radius), radius, radius, (24, 24, 27))
    figure.ellipse(plane, (along, radius), radius * 0.55, radius * 0.55, (146, 148, 152))
    figure.ellipse(plane, (along, radius), radius * 0.2, radius * 0.2, (70, 70, 74))


def _paint_lamps(figure: Figure, plane: Plane, half: float, up: float, size: float, colour: Colour) -> None:
    """One lamp at each end of a face `half` metres from its middle."""
    for side in (-1, 1):
        inner, outer = side * (half - size * 1.5), side * half
        figure.box(plane, min(inner, outer), up, max(inner, outer), up + size, colour)


# Cars of several shapes

_NARROWING = 0.24  # how much narrower the roof is than the body


@dataclass(frozen=True)
class _CarShape:
    """Metres; the cabin is given as shares of the length from the back: at the belt line and at the roof."""

    length: float
    width: float
    height: float
    belt: float
    cabin: tuple[float, float]
    roof: tuple[float, float]


_SHAPES = (
    _CarShape(3.9, 1.75, 1.5, 0.92, (0.01, 0.74), (0.1, 0.56)),  # hatchback
    _CarShape(4.5, 1.8, 1.44, 0.9, (0.13, 0.76), (0.27, 0.57)),  # saloon
    _CarShape(4.6, 1.8, 1.48, 0.9, (0.01, 0.74), (0.07, 0.56)),  # estate
    _CarShape(4.6, 1.9, 1.76, 1.05, (0.01, 0.74), (0.07, 0.58)),  # off-roader
    _CarShape(4.9, 1.95, 2.15, 1.15, (0.0, 0.88), (0.01, 0.68)),  # van
)


@dataclass(frozen=True)
class _CarLook:
    shape: _CarShape
    paint: Colour
    glass: Colour
    plate: Colour


def make_car(dice: Dice) -> _Vehicle:
    shape = dice.choice(_SHAPES)
    glass = mixed(GLASS, (120, 136, 150), dice.between(0.0, 0.5))
    look = _CarLook(shape, varied(dice, dice.choice(PAINT)), glass, dice.choice((WHITE, (214, 180, 60))))
    return _Vehicle(
        kind=Kind.CAR,
        length=shape.length,
        width=shape.width,
        flank=partial(_flank, look),
        back=partial(_end, look, back=True),
        front=partial(_end, look, back=False),
    )


def _flank(look: _CarLook, figure: Figure, plane: Plane, shade: float) -> None:
    car, paint, length = look.shape, look.paint, look.shape.length
    belt, top = car.belt, car.height
    low = (car.cabin[0] * length, car.cabin[1] * length)
    high = (car.roof[0] * length, car.roof[1] * length)
    cabin = _leaning(plane, car)
    corners = ((low[0], belt - 0.1), (low[1], belt - 0.1), (high[1], top), (high[0], top))
    figure.polygon(cabin, corners, paint, shade=shade)
    nose = belt - (
        0.0 if isinstance(plane, Receding) else 0.2
    )  # beside the bonnet there is no room for a gap
    body = ((0.0, 0.28), (length, 0.28), (length, nose), (low[1], belt), (0.0, belt))
    figure.polygon(plane, body, paint, shade=shade)
    _side_windows(look, figure, cabin, low, high, shade)
    figure.box(plane, 0.1, 0.24, length - 0.1, 0.36, scaled(paint, 0.5), shade=shade)
    for along in (0.19 * length, 0.81 * length):
        _paint_wheel(figure, plane, along, 0.33)
    figure.box(plane, 0.0, belt - 0.3, 0.2, belt - 0.14, RED, shade=shade)
    figure.box(plane, length - 0.3, belt - 0.34, length - 0.04, belt - 0.22, WHITE, shade=shade)


def _leaning(plane: Plane, car: _CarShape) -> Plane:
    """The plane of the side windows: above the belt line the cabin grows narrower."""
    if not isinstance(plane, Receding):
        return plane  # seen straight from the side it looks the same
    lean = _NARROWING * car.width / 2 / (car.height - car.belt)
    return replace(plane, lean=lean if plane.x > 0 else -lean, upright_to=car.belt)


def _side_windows(
    look: _CarLook,
    figure: Figure,
    plane: Plane,
    low: tuple[float, float],
    high: tuple[float, float],
    shade: float,
) -> None:
    belt, top = look.shape.belt, look.shape.height - 0.1
    pane = ((low[0] + 0.22, belt), (low[1] - 0.22, belt), (high[1] - 0.06, top), (high[0] + 0.1, top))
    figure.polygon(plane, pane, look.glass, shade=shade)
    for share in (0.34, 0.68):
        along = low[0] + (low[1] - low[0]) * share
        figure.box(plane, along - 0.05, 0.5, along + 0.05, top, scaled(look.paint, 0.86), shade=shade)


def _end(look: _CarLook, figure: Figure, plane: Facing, shade: float, *, back: bool) -> None:
    """The back with red lamps, or the front with a grille and white ones."""
    car, half, belt = look.shape, look.shape.width / 2, look.shape.belt
    for side in (-1, 1):
        inner, outer = side * half * 0.66, side * half * 0.96
        figure.box(plane, min(inner, outer), 0.0, max(inner, outer), 0.4, BLACK)
    _cabin_end(look, figure, plane, shade, back=back)
    corners = ((half * 0.97, 0.22), (half, 0.42), (half, belt - 0.12), (half * 0.95, belt))
    outline = [*corners, *((-x, up) for x, up in reversed(corners))]
    figure.polygon(plane, outline, look.paint, shade=shade)
    figure.box(plane, -half * 0.95, 0.22, half * 0.95, 0.4, scaled(look.paint, 0.55), shade=shade)
    if not back:
        figure.box(plane, -half * 0.5, 0.42, half * 0.5, 0.6, BLACK)
    figure.box(plane, -0.26, 0.42, 0.26, 0.54, look.plate)
    lamp = (206, 28, 30) if back else (246, 240, 214)
    _paint_lamps(figure, plane, half * 0.95, car.belt - 0.3, 0.17, lamp)


def _cabin_end(look: _CarLook, figure: Figure, plane: Facing, shade: float, *, back: bool) -> None:
    """The rear window or windscreen, leaning away, the roof beyond it, and the boot or bonnet before it."""
    car, half = look.shape, look.shape.width / 2
    shares = (car.cabin[0], *car.roof) if back else (1 - car.cabin[1], 1 - car.roof[1], 1 - car.roof[0])
    low, high, far = (share * car.length for share in shares)
    slope = (high - low) / (car.height - car.belt)
    window = replace(plane, depth=plane.depth + low, lean=slope, upright_to=car.belt)
    roof = replace(plane, depth=plane.depth + far)
    narrow = half * (1 - _NARROWING)
    for near_edge, far_edge, light in (
        ((plane, half * 0.95, car.belt), (window, half, car.belt), 1.12),  # the lid
        ((window, half, car.belt - 0.1), (window, narrow, car.height), 1.0),  # down behind the body: no seam
        ((window, narrow, car.height), (roof, narrow, car.height), 1.15),
    ):
        corners = [edge_plane.at(side * reach, up) for side, (edge_plane, reach, up) in (
            (-1, near_edge), (1, near_edge), (1, far_edge), (-1, far_edge))]  # fmt: skip
        figure.polygon(OnScreen(plane.depth), corners, look.paint, shade=shade * light)
    glass = ((half * 0.88, car.belt + 0.04), (narrow * 0.92, car.height - 0.1))
    figure.polygon(window, [*glass, *((-x, up) for x, up in reversed(glass))], look.glass, shade=shade)


# Buses, with windows all along, and trucks, with a cab and a load; both big boxes from behind

_AMBER: Colour = (250, 170, 50)


@dataclass(frozen=True)
class _BoxLook:
    """What buses and trucks have in common; `load` is the colour of a truck's box, `accent` a stripe."""

    length: float
    height: float
    paint: Colour
    load: Colour
    accent: Colour
    glass: Colour
    half: float = 1.25


def _look(dice: Dice, length: float, height: float) -> _BoxLook:
    return _BoxLook(
        length=length,
        height=height,
        paint=varied(dice, dice.choice(PAINT)),
        load=varied(dice, dice.choice((*PAINT[:4], *PAINT))),
        accent=varied(dice, dice.choice(PAINT)),
        glass=mixed(GLASS, (120, 136, 150), dice.between(0.0, 0.5)),
    )


def make_bus(dice: Dice) -> _Vehicle:
    look = _look(dice, dice.between(9.5, 12.0), dice.between(2.9, 3.2))
    return _Vehicle(
        Kind.BUS, look.length, 2.5,
        flank=partial(_bus_flank, look), back=partial(_bus_back, look), front=partial(_bus_front, look),
    )  # fmt: skip


def make_truck(dice: Dice) -> _Vehicle:
    tipper = dice.chance(0.3)  # an open load, lower than the cab
    look = _look(dice, dice.between(6.5, 9.5), dice.between(2.1, 2.4) if tipper else dice.between(3.1, 3.7))
    return _Vehicle(
        Kind.TRUCK, look.length, 2.5,
        flank=partial(_truck_flank, look), back=partial(_truck_back, look), front=partial(_truck_front, look),
    )  # fmt: skip


def _bus_flank(look: _BoxLook, figure: Figure, plane: Plane, shade: float) -> None:
    length, top = look.length, look.height
    figure.box(plane, 0.0, 0.3, length, top, look.paint, shade=shade)
    figure.box(plane, 0.0, 0.3, length, 0.75, look.accent, shade=shade)
    figure.box(plane, 0.0, top - 0.12, length, top, scaled(look.paint, 0.8), shade=shade)
    panes = 6
    pane = (length - 0.4) / panes
    for index in range(panes):
        left = 0.25 + index * pane
        low = 0.45 if index in (2, panes - 1) else 1.3  # doors reach down
        figure.box(plane, left, low, left + pane - 0.14, top - 0.5, look.glass, shade=shade)
    for along in (0.22 * length, 0.76 * length):
        _paint_wheel(figure, plane, along, 0.5)


def _bus_back(look: _BoxLook, figure: Figure, plane: Plane, shade: float) -> None:
    half, top = look.half, look.height
    figure.box(plane, -half * 0.9, 0.0, half * 0.9, 0.5, BLACK)
    figure.box(plane, -half, 0.3, half, top, look.paint, shade=shade)
    figure.box(plane, -half, 0.3, half, 0.75, look.accent, shade=shade)
    figure.box(plane, -half * 0.84, 1.75, half * 0.84, top - 0.4, look.glass, shade=shade)
    for up in (0.95, 1.15, 1.35):
        figure.box(plane, -half * 0.6, up, half * 0.6, up + 0.1, scaled(look.paint, 0.55), shade=shade)
    _paint_lamps(figure, plane, half * 0.96, 1.0, 0.28, RED)


def _bus_front(look: _BoxLook, figure: Figure, plane: Plane, shade: float) -> None:
    half, top = look.half, look.height
    figure.box(plane, -half * 0.9, 0.0, half * 0.9, 0.5, BLACK)
    figure.box(plane, -half, 0.3, half, top, look.paint, shade=shade)
    figure.box(plane, -half, 0.3, half, 0.75, look.accent, shade=shade)
    figure.box(plane, -half * 0.92, 1.05, half * 0.92, top - 0.55, look.glass, shade=shade)
    figure.box(plane, -half * 0.8, top - 0.45, half * 0.8, top - 0.12, BLACK)
    figure.box(plane, -half * 0.6, top - 0.36, half * 0.5, top - 0.2, _AMBER)
    figure.box(plane, -0.04, 1.05, 0.04, top - 0.55, BLACK)
    _paint_lamps(figure, plane, half * 0.94, 0.6, 0.24, (246, 240, 214))


def _truck_flank(look: _BoxLook, figure: Figure, plane: Plane, shade: float) -> None:
    length, top = look.length, look.height
    cab = length - 1.9
    figure.box(plane, 0.1, 0.5, length - 0.3, 1.05, (44, 44, 48), shade=shade)
    figure.box(plane, 0.0, 0.95, cab - 0.25, top, look.load, shade=shade)
    for share in (0.25, 0.5, 0.75):
        figure.box(
            plane, cab * share, 1.0, cab * share + 0.07, top - 0.05, scaled(look.load, 0.8), shade=shade
        )
    figure.box(plane, cab * 0.2, 1.6, cab * 0.7, 2.0, look.accent, shade=shade)
    cab_outline = ((cab, 0.45), (length, 0.45), (length, 1.5), (length - 0.35, 2.65), (cab, 2.65))
    figure.polygon(plane, cab_outline, look.paint, shade=shade)
    window = ((cab + 0.5, 1.5), (length - 0.12, 1.5), (length - 0.42, 2.4), (cab + 0.5, 2.4))
    figure.polygon(plane, window, look.glass, shade=shade)
    for along in (0.13 * length, 0.29 * length, length - 0.85):
        _paint_wheel(figure, plane, along, 0.52)


def _truck_back(look: _BoxLook, figure: Figure, plane: Plane, shade: float) -> None:
    half, top = look.half, look.height
    for side in (-1, 1):
        inner, outer = side * half * 0.5, side * half * 0.96
        figure.box(plane, min(inner, outer), 0.0, max(inner, outer), 0.9, BLACK)
    figure.box(plane, -half, 0.55, half, 0.95, (44, 44, 48), shade=shade)
    figure.box(plane, -half, 0.9, half, top, look.load, shade=shade)
    figure.box(plane, -half, top - 0.12, half, top, scaled(look.load, 0.75), shade=shade)
    for along in (-half, -0.03, half - 0.07):
        figure.box(plane, along, 0.95, along + 0.07, top, scaled(look.load, 0.65), shade=shade)
    for along in (-0.3, 0.24):
        figure.box(plane, along, 1.0, along + 0.06, top - 0.15, STEEL, shade=shade)
    _paint_lamps(figure, plane, half * 0.96, 0.62, 0.2, RED)


def _truck_front(look: _BoxLook, figure: Figure, plane: Plane, shade: float) -> None:
    half, top = look.half, look.height
    figure.box(plane, -half, 1.0, half, top, look.load, shade=shade * 0.85)
    figure.box(plane, -half * 0.9, 0.0, half * 0.9, 0.5, BLACK)
    figure.box(plane, -half * 0.96, 0.4, half * 0.96, 2.65, look.paint, shade=shade)
    figure.box(plane, -half * 0.86, 1.5, half * 0.86, 2.4, look.glass, shade=shade)
    figure.box(plane, -half * 0.6, 0.75, half * 0.6, 1.3, BLACK, shade=shade)
    for up in (0.9, 1.08):
        figure.box(plane, -half * 0.55, up, half * 0.55, up + 0.06, STEEL, shade=shade)
    figure.box(plane, -half * 0.96, 0.4, half * 0.96, 0.6, scaled(look.paint, 0.6), shade=shade)
    _paint_lamps(figure, plane, half * 0.94, 0.62, 0.22, WHITE)
