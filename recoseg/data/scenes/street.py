"""The plan of a street: how wide it is, what lines it, and who and what is where one would expect it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from recoseg.data.scenes.buildings import Barrier, Facade
from recoseg.data.scenes.dice import Dice
from recoseg.data.scenes.people import paint_bicycle, paint_person, paint_rider
from recoseg.data.scenes.shapes import Spot
from recoseg.data.scenes.sidewalk import (
    paint_bin,
    paint_bush,
    paint_street_lamp,
    paint_traffic_light,
    paint_traffic_sign,
    paint_tree,
)
from recoseg.data.scenes.stage import Kind, Stage
from recoseg.data.scenes.vehicles import Maker, make_bus, make_car, make_truck, paint_across, paint_along

# The street and its sides

_SIDES = (-1, 1)  # left, right


@dataclass(frozen=True)
class Plot:
    """A stretch of one side of the street, from depth `near` to `far`; `front` is None where it is open."""

    near: float
    far: float
    front: Facade | Barrier | None


@dataclass(frozen=True)
class Side:
    """One side of the street; positions are distances from the camera's line of sight, in metres."""

    sign: int  # -1 left, 1 right
    kerb: float
    front: float  # where the sidewalk ends and the plots begin
    parking: bool  # whether the lane beside the kerb is for parking
    plots: tuple[Plot, ...]
    behind: tuple[Plot, ...]  # a second row, seen over fences and through gaps
    behind_at: float

    def shadow_height(self, depth: float) -> float:
        """The height of what stands beside the street at `depth`."""
        for plot in self.plots:
            if plot.near <= depth < plot.far:
                return plot.front.height if plot.front is not None else 0.0
        return 0.0


@dataclass(frozen=True)
class Street:
    left: Side
    right: Side
    length: float
    end: Facade | None  # the building that closes the street

    @classmethod
    def drawn(cls, dice: Dice, lit_windows: float) -> Street:
        length = dice.between(45, 85)
        built_up = dice.between(0.15, 0.9)
        sides = [_side(dice, sign, length, built_up, lit_windows) for sign in _SIDES]
        end = Facade.drawn(dice, lit_windows) if dice.chance(0.35) else None
        return cls(left=sides[0], right=sides[1], length=length, end=end)

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.left, self.right


def _side(dice: Dice, sign: int, length: float, built_up: float, lit_windows: float) -> Side:
    parking = dice.chance(0.6)
    lanes = dice.between(1.7, 2.2) if sign == 1 else dice.between(4.6, 5.8)  # we drive on the right
    kerb = lanes + (2.4 if parking else 0.3)
    front = kerb + dice.between(2.0, 4.5)
    return Side(
        sign=sign,
        kerb=kerb,
        front=front,
        parking=parking,
        plots=_row(dice, length, built_up, lit_windows, 8.0),
        behind=_row(dice, min(length, 60.0), 0.5, lit_windows, 16.0),
        behind_at=front + dice.between(6, 14),
    )


def _row(
    dice: Dice, length: float, built_up: float, lit_windows: float, narrowest: float
) -> tuple[Plot, ...]:
    """Plots one after the other, buildings or, between them, what closes a gap."""
    plots, near = [], dice.between(1.0, 3.0)
    while near < length:
        built = dice.chance(built_up)
        far = min(near + narrowest * (dice.between(1.0, 2.7) if built else dice.between(0.6, 1.7)), length)
        plots.append(Plot(near, far, Facade.drawn(dice, lit_windows) if built else _gap(dice)))
        near = far + (dice.between(1.0, 3.0) if dice.chance(0.2) else 0.0)
    return tuple(plots)


def _gap(dice: Dice) -> Barrier | None:
    kind = dice.choice((Kind.WALL, Kind.WALL, Kind.FENCE, Kind.FENCE, Kind.FENCE, Kind.VEGETATION, None))
    return None if kind is None else Barrier.drawn(dice, kind)


# Things on it

_Painter = Callable[[Stage, Spot, Dice], None]
_LONGEST = 13.0  # metres between the near ends of two vehicles, at least, if one may be a bus


@dataclass(frozen=True)
class _Thing:
    """Something to be painted at a spot; `dice` is its own stream, so that it looks the same at any size."""

    spot: Spot
    paint: _Painter
    dice: Dice


def furnish(street: Street, dice: Dice) -> list[_Thing]:
    """Everything on the street, the farthest first."""
    things: list[_Thing] = []
    for side in street.sides:
        things += _on_sidewalk(side, dice)
        things += _in_lane(side, dice)
        if side.parking:
            things += _parked(side, dice)
    things += _crossing(street, dice)
    return sorted(things, key=lambda thing: thing.spot.depth, reverse=True)


def plant_behind(side: Side, dice: Dice) -> list[_Thing]:
    """Trees behind the fronts of one side, the farthest first."""
    trees = [
        _thing(dice, paint_tree, side.sign * (side.front + dice.between(1.5, 6)), 8, 60)
        for _ in range(dice.count(0, 3))
    ]
    return sorted(trees, key=lambda thing: thing.spot.depth, reverse=True)


def _thing(dice: Dice, paint: _Painter, x: float, near: float, far: float) -> _Thing:
    """A thing at a depth between `near` and `far`, more often near than far."""
    share = dice.fraction()
    spot = Spot(x, near + (far - near) * share * share, outlined=dice.chance(0.4))
    return _Thing(spot, paint, dice.split())


def _on_sidewalk(side: Side, dice: Dice) -> Iterator[_Thing]:
    """Furniture and trees along the kerb, people and bicycles between it and the fronts."""

    def at_kerb() -> float:
        return side.sign * (side.kerb + dice.between(0.4, 0.7))

    def on_walk() -> float:
        return side.sign * dice.between(side.kerb + 0.8, side.front - 0.4)

    for paint, most, chance in (
        (paint_street_lamp, 2, 0.7),
        (paint_traffic_sign, 2, 0.4),
        (paint_traffic_light, 1, 0.5),
        (paint_tree, 3, 0.35),
    ):
        for _ in range(most):
            if dice.chance(chance):
                yield _thing(dice, paint, at_kerb(), 6, 26)
    for paint, most, chance in ((paint_person, 3, 0.45), (paint_bicycle, 2, 0.22), (paint_bin, 1, 0.2),
                                (paint_bush, 1, 0.3)):  # fmt: skip
        for _ in range(most):
            if dice.chance(chance):
                yield _thing(dice, paint, on_walk(), 5, 22)


def _vehicle(dice: Dice) -> Maker:
    return dice.choice((make_car, make_car, make_car, make_car, make_car, make_bus, make_truck, make_truck))


def _in_lane(side: Side, dice: Dice) -> Iterator[_Thing]:
    """Traffic: we see the backs of those on our side and the fronts of the others; sometimes a rider."""
    oncoming = side.sign < 0
    middle = -dice.between(3.0, 3.6) if oncoming else dice.between(-0.3, 0.3)
    depth = dice.between(7, 22) if oncoming else dice.between(11, 30)
    while depth < 45:
        spot = Spot(middle + dice.between(-0.3, 0.3), depth, outlined=dice.chance(0.4))
        yield _Thing(spot, partial(paint_along, make=_vehicle(dice), oncoming=oncoming), dice.split())
        depth += _LONGEST + dice.between(2, 30)
    if dice.chance(0.4):
        yield _thing(dice, paint_rider, side.sign * (side.kerb - (3.0 if side.parking else 0.8)), 6, 18)


def _parked(side: Side, dice: Dice) -> Iterator[_Thing]:
    """A row at the kerb with gaps, mostly of cars."""
    x, depth = side.sign * (side.kerb - 1.15), dice.between(5, 14)
    while depth < 40:
        make = _vehicle(dice) if dice.chance(0.15) else make_car
        spot = Spot(x + dice.between(-0.12, 0.12), depth, outlined=dice.chance(0.4))
        if dice.chance(0.55):
            yield _Thing(spot, partial(paint_along, make=make, oncoming=side.sign < 0), dice.split())
        depth += (5.3 if make is make_car else _LONGEST) + dice.between(0.4, 2.0)


def _crossing(street: Street, dice: Dice) -> Iterator[_Thing]:
    """People, riders and now and then a vehicle on their way across the road."""
    left, right = -street.left.kerb, street.right.kerb
    for _ in range(dice.count(0, 2)):
        yield _thing(dice, paint_person, dice.between(left, right), 6, 20)
    if dice.chance(0.25):
        yield _thing(dice, paint_rider, dice.between(left, right), 6, 18)
    if dice.chance(0.25):
        make = dice.choice((make_car, make_car, make_bus, make_truck))
        yield _thing(dice, partial(paint_across, make=make), dice.between(left, right), 12, 36)
