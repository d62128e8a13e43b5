"""Who and what is on the street, and where: every thing stands in a place where one would expect it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from recoseg.data.scenes.canvas import Stage
from recoseg.data.scenes.cars import make_car
from recoseg.data.scenes.dice import Dice
from recoseg.data.scenes.furniture import (
    paint_bin,
    paint_street_lamp,
    paint_traffic_light,
    paint_traffic_sign,
)
from recoseg.data.scenes.large_vehicles import make_bus, make_truck
from recoseg.data.scenes.people import paint_bicycle, paint_person, paint_rider
from recoseg.data.scenes.plants import paint_bush, paint_tree
from recoseg.data.scenes.spot import Spot
from recoseg.data.scenes.street import Side, Street
from recoseg.data.scenes.vehicles import Maker, paint_across, paint_along

Painter = Callable[[Stage, Spot, Dice], None]
LONGEST = 13.0  # metres between the near ends of two vehicles, at least, if one may be a bus


@dataclass(frozen=True)
class Thing:
    """Something to be painted at a spot; `dice` is its own stream, so that it looks the same at any size."""

    spot: Spot
    paint: Painter
    dice: Dice


def furnish(street: Street, dice: Dice) -> list[Thing]:
    """Everything on the street, the farthest first."""
    things: list[Thing] = []
    for side in street.sides:
        things += _on_sidewalk(side, dice)
        things += _in_lane(side, dice)
        if side.parking:
            things += _parked(side, dice)
    things += _crossing(street, dice)
    return sorted(things, key=lambda thing: thing.spot.depth, reverse=True)


def plant_behind(side: Side, dice: Dice) -> list[Thing]:
    """Trees behind the fronts of one side, the farthest first."""
    trees = [
        _thing(dice, paint_tree, side.sign * (side.front + dice.between(1.5, 6)), 8, 60)
        for _ in range(dice.count(0, 3))
    ]
    return sorted(trees, key=lambda thing: thing.spot.depth, reverse=True)


def _thing(dice: Dice, paint: Painter, x: float, near: float, far: float) -> Thing:
    """A thing at a depth between `near` and `far`, more often near than far."""
    share = dice.fraction()
    spot = Spot(x, near + (far - near) * share * share, outlined=dice.chance(0.4))
    return Thing(spot, paint, dice.split())


def _on_sidewalk(side: Side, dice: Dice) -> Iterator[Thing]:
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


def _in_lane(side: Side, dice: Dice) -> Iterator[Thing]:
    """Traffic: we see the backs of those on our side and the fronts of the others; sometimes a rider."""
    oncoming = side.sign < 0
    middle = -dice.between(3.0, 3.6) if oncoming else dice.between(-0.3, 0.3)
    depth = dice.between(7, 22) if oncoming else dice.between(11, 30)
    while depth < 45:
        spot = Spot(middle + dice.between(-0.3, 0.3), depth, outlined=dice.chance(0.4))
        yield Thing(spot, partial(paint_along, make=_vehicle(dice), oncoming=oncoming), dice.split())
        depth += LONGEST + dice.between(2, 30)
    if dice.chance(0.4):
        yield _thing(dice, paint_rider, side.sign * (side.kerb - (3.0 if side.parking else 0.8)), 6, 18)


def _parked(side: Side, dice: Dice) -> Iterator[Thing]:
    """A row at the kerb with gaps, mostly of cars."""
    x, depth = side.sign * (side.kerb - 1.15), dice.between(5, 14)
    while depth < 40:
        make = _vehicle(dice) if dice.chance(0.15) else make_car
        spot = Spot(x + dice.between(-0.12, 0.12), depth, outlined=dice.chance(0.4))
        if dice.chance(0.55):
            yield Thing(spot, partial(paint_along, make=make, oncoming=side.sign < 0), dice.split())
        depth += (5.3 if make is make_car else LONGEST) + dice.between(0.4, 2.0)


def _crossing(street: Street, dice: Dice) -> Iterator[Thing]:
    """People, riders and now and then a vehicle on their way across the road."""
    left, right = -street.left.kerb, street.right.kerb
    for _ in range(dice.count(0, 2)):
        yield _thing(dice, paint_person, dice.between(left, right), 6, 20)
    if dice.chance(0.25):
        yield _thing(dice, paint_rider, dice.between(left, right), 6, 18)
    if dice.chance(0.25):
        make = dice.choice((make_car, make_car, make_bus, make_truck))
        yield _thing(dice, partial(paint_across, make=make), dice.between(left, right), 12, 36)
