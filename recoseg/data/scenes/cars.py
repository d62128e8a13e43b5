"""Cars of several shapes: hatchback, saloon, estate, off-roader and van."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from recoseg.data.scenes.camera import Facing, OnScreen, Plane, Receding
from recoseg.data.scenes.classes import Kind
from recoseg.data.scenes.colours import BLACK, GLASS, PAINT, RED, WHITE, Colour, mixed, scaled, varied
from recoseg.data.scenes.dice import Dice
from recoseg.data.scenes.figure import Figure
from recoseg.data.scenes.vehicles import Vehicle, paint_lamps, paint_wheel

NARROWING = 0.24  # how much narrower the roof is than the body


@dataclass(frozen=True)
class CarShape:
    """Metres; the cabin is given as shares of the length from the back: at the belt line and at the roof."""

    length: float
    width: float
    height: float
    belt: float
    cabin: tuple[float, float]
    roof: tuple[float, float]


SHAPES = (
    CarShape(3.9, 1.75, 1.5, 0.92, (0.01, 0.74), (0.1, 0.56)),  # hatchback
    CarShape(4.5, 1.8, 1.44, 0.9, (0.13, 0.76), (0.27, 0.57)),  # saloon
    CarShape(4.6, 1.8, 1.48, 0.9, (0.01, 0.74), (0.07, 0.56)),  # estate
    CarShape(4.6, 1.9, 1.76, 1.05, (0.01, 0.74), (0.07, 0.58)),  # off-roader
    CarShape(4.9, 1.95, 2.15, 1.15, (0.0, 0.88), (0.01, 0.68)),  # van
)


@dataclass(frozen=True)
class CarLook:
    shape: CarShape
    paint: Colour
    glass: Colour
    plate: Colour


def make_car(dice: Dice) -> Vehicle:
    shape = dice.choice(SHAPES)
    glass = mixed(GLASS, (120, 136, 150), dice.between(0.0, 0.5))
    look = CarLook(shape, varied(dice, dice.choice(PAINT)), glass, dice.choice((WHITE, (214, 180, 60))))
    return Vehicle(
        kind=Kind.CAR,
        length=shape.length,
        width=shape.width,
        flank=partial(_flank, look),
        back=partial(_end, look, back=True),
        front=partial(_end, look, back=False),
    )


def _flank(look: CarLook, figure: Figure, plane: Plane, shade: float) -> None:
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
        paint_wheel(figure, plane, along, 0.33)
    figure.box(plane, 0.0, belt - 0.3, 0.2, belt - 0.14, RED, shade=shade)
    figure.box(plane, length - 0.3, belt - 0.34, length - 0.04, belt - 0.22, WHITE, shade=shade)


def _leaning(plane: Plane, car: CarShape) -> Plane:
    """The plane of the side windows: above the belt line the cabin grows narrower."""
    if not isinstance(plane, Receding):
        return plane  # seen straight from the side it looks the same
    lean = NARROWING * car.width / 2 / (car.height - car.belt)
    return replace(plane, lean=lean if plane.x > 0 else -lean, upright_to=car.belt)


def _side_windows(
    look: CarLook,
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


def _end(look: CarLook, figure: Figure, plane: Facing, shade: float, *, back: bool) -> None:
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
    paint_lamps(figure, plane, half * 0.95, car.belt - 0.3, 0.17, lamp)


def _cabin_end(look: CarLook, figure: Figure, plane: Facing, shade: float, *, back: bool) -> None:
    """The rear window or windscreen, leaning away, the roof beyond it, and the boot or bonnet before it."""
    car, half = look.shape, look.shape.width / 2
    shares = (car.cabin[0], *car.roof) if back else (1 - car.cabin[1], 1 - car.roof[1], 1 - car.roof[0])
    low, high, far = (share * car.length for share in shares)
    slope = (high - low) / (car.height - car.belt)
    window = replace(plane, depth=plane.depth + low, lean=slope, upright_to=car.belt)
    roof = replace(plane, depth=plane.depth + far)
    narrow = half * (1 - NARROWING)
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
