"""The plan of a street: its width, the fronts on both sides, and the traffic, people and things on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from recoseg.data.scenes.backdrop import Pair, paint_wall
from recoseg.data.scenes.canvas import Canvas
from recoseg.data.scenes.classes import Kind
from recoseg.data.scenes.random_draws import RandomDraws
from recoseg.data.scenes.things import Spot, paint_thing

_GAPS = (Kind.WALL, Kind.WALL, Kind.FENCE, Kind.FENCE, Kind.VEGETATION)
_TRAFFIC = (*[Kind.CAR] * 5, Kind.BUS, Kind.TRUCK, Kind.TRUCK)
_CARRIERS = {Kind.RIDER: Kind.BICYCLE, Kind.TRAFFIC_SIGN: Kind.POLE, Kind.TRAFFIC_LIGHT: Kind.POLE}
_SIDEWAYS = ((1.0, 0.0), (-1.0, 0.0), (0.8, 0.6), (-0.8, 0.6))  # unit vectors with exact coordinates

Thing = tuple[Kind, Spot, int]  # the seed is its own, so that a thing looks the same at any size


class Side(NamedTuple):
    """One side of the street; distances from the camera's line of sight, in metres."""

    sign: int  # -1 left, 1 right
    kerb: float
    front: float  # the end of the sidewalk
    has_parking: bool
    plots: list[tuple[float, float, Kind, int]]  # the depths of both ends, what stands there, and its seed

    @classmethod
    def draw(cls, sign: int, built_up: float, draws: RandomDraws) -> Side:
        has_parking = draws.between(0, 1) < 0.6
        kerb = (draws.between(1.8, 2.3) if sign > 0 else draws.between(4.7, 5.9)) + 2.3 * has_parking
        plots, near, length = [], draws.between(1.0, 3.0), draws.between(45.0, 85.0)
        while near < length:
            kind = Kind.BUILDING if draws.between(0, 1) < built_up else draws.choice(_GAPS)
            far = near + draws.between(5.0, 20.0)
            plots.append((near, far, kind, draws.seed()))
            near = far + max(draws.between(-8.0, 3.0), 0.0)
        return cls(sign, kerb, kerb + draws.between(2.0, 4.5), has_parking, plots)

    def paint(self, canvas: Canvas, draws: RandomDraws) -> None:
        """Paint trees behind the fronts, then the fronts from far to near."""
        for tree in _scatter(draws, Kind.VEGETATION, 4, (self.sign * (self.front + 4.0), 2.5), 60.0):
            paint_thing(canvas, *tree)
        x, back = self.sign * self.front, self.sign * (self.front + 10.0)
        for near, far, kind, seed in reversed(self.plots):
            for start, end in (((back, near), (x, near)), ((x, near), (x, far))):
                left, right = (start, end) if self.sign < 0 else (end, start)
                paint_wall(canvas, kind, left, right, RandomDraws(seed))

    def furnish(self, draws: RandomDraws) -> Iterator[Thing]:
        """Yield things along the kerb, people and bicycles on the sidewalk, moving and parked vehicles."""
        kerb, walk = (self.sign * (self.kerb + 0.6), 0.1), (self.sign * (self.kerb + self.front) / 2, 0.6)
        for kind, most, place in (
            (Kind.POLE, 2, kerb), (Kind.TRAFFIC_SIGN, 1, kerb), (Kind.TRAFFIC_LIGHT, 1, kerb),
            (Kind.VEGETATION, 2, kerb), (Kind.PERSON, 3, walk), (Kind.BICYCLE, 1, walk),
        ):  # fmt: skip
            yield from _scatter(draws, kind, draws.choice(range(most + 1)), place, 24.0)
        lane = draws.between(-0.3, 0.3) if self.sign > 0 else draws.between(-3.6, -3.0)
        parked = (self.sign * (self.kerb - 1.15), 1.2, 0.55, (Kind.CAR,) * 9 + _TRAFFIC)
        for x, gap, share, kinds in ((lane, 16.0, 0.9, _TRAFFIC), parked)[: 1 + self.has_parking]:
            near = draws.between(6.0, 16.0)
            while near < 42.0:
                kind, scale = draws.choice(kinds), draws.between(0.9, 1.1)
                if draws.between(0, 1) < share:
                    yield kind, Spot(x, near, (0.0, float(self.sign)), scale), draws.seed()
                near += (5.0 if kind == Kind.CAR else 12.0) + draws.between(0.3, 2.0) * gap


def _scatter(draws: RandomDraws, kind: Kind, count: int, place: Pair, farthest: float) -> Iterator[Thing]:
    """Yield things around an x, with a spread, more often near than far; people and bicycles face any way."""
    x, spread = place
    for _ in range(count):
        share, scale = draws.between(0.0, 1.0), draws.between(0.85, 1.1)
        ahead = draws.choice(_SIDEWAYS if kind in (Kind.PERSON, Kind.BICYCLE, Kind.RIDER) else _SIDEWAYS[:1])
        spot = Spot(x + draws.between(-spread, spread), 5.0 + (farthest - 5.0) * share * share, ahead, scale)
        yield from ((part, spot, draws.seed()) for part in (_CARRIERS.get(kind), kind) if part is not None)


def furnish(left: Side, right: Side, draws: RandomDraws) -> list[Thing]:
    """Return everything on the street, the farthest first."""
    road = ((right.kerb - left.kerb) / 2, (right.kerb + left.kerb) / 2)
    things = [*left.furnish(draws), *right.furnish(draws)]
    for kind in (Kind.PERSON, Kind.RIDER):
        things += _scatter(draws, kind, draws.choice(range(3)), road, 20.0)
    if draws.between(0, 1) < 0.25:
        spot = Spot(draws.between(-3.0, 3.0), draws.between(12.0, 36.0), draws.choice(_SIDEWAYS[:2]))
        things.append((draws.choice(_TRAFFIC[3:]), spot, draws.seed()))
    return sorted(things, key=lambda thing: -thing[1].depth)
