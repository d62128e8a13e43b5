"""The plan of a street: how wide it is, and what lines it on both sides."""

from __future__ import annotations

from dataclasses import dataclass

from recoseg.data.scenes.barriers import Barrier
from recoseg.data.scenes.classes import Kind
from recoseg.data.scenes.dice import Dice
from recoseg.data.scenes.facade import Facade

SIDES = (-1, 1)  # left, right


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
        sides = [_side(dice, sign, length, built_up, lit_windows) for sign in SIDES]
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
