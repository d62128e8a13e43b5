"""Buses, with windows all along, and trucks, with a cab and a load; both big boxes from behind."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from recoseg.data.scenes.camera import Plane
from recoseg.data.scenes.classes import Kind
from recoseg.data.scenes.colours import BLACK, GLASS, PAINT, RED, STEEL, WHITE, Colour, mixed, scaled, varied
from recoseg.data.scenes.dice import Dice
from recoseg.data.scenes.figure import Figure
from recoseg.data.scenes.vehicles import Vehicle, paint_lamps, paint_wheel

AMBER: Colour = (250, 170, 50)


@dataclass(frozen=True)
class BoxLook:
    """What buses and trucks have in common; `load` is the colour of a truck's box, `accent` a stripe."""

    length: float
    height: float
    paint: Colour
    load: Colour
    accent: Colour
    glass: Colour
    half: float = 1.25


def _look(dice: Dice, length: float, height: float) -> BoxLook:
    return BoxLook(
        length=length,
        height=height,
        paint=varied(dice, dice.choice(PAINT)),
        load=varied(dice, dice.choice((*PAINT[:4], *PAINT))),
        accent=varied(dice, dice.choice(PAINT)),
        glass=mixed(GLASS, (120, 136, 150), dice.between(0.0, 0.5)),
    )


def make_bus(dice: Dice) -> Vehicle:
    look = _look(dice, dice.between(9.5, 12.0), dice.between(2.9, 3.2))
    return Vehicle(
        Kind.BUS, look.length, 2.5,
        flank=partial(_bus_flank, look), back=partial(_bus_back, look), front=partial(_bus_front, look),
    )  # fmt: skip


def make_truck(dice: Dice) -> Vehicle:
    tipper = dice.chance(0.3)  # an open load, lower than the cab
    look = _look(dice, dice.between(6.5, 9.5), dice.between(2.1, 2.4) if tipper else dice.between(3.1, 3.7))
    return Vehicle(
        Kind.TRUCK, look.length, 2.5,
        flank=partial(_truck_flank, look), back=partial(_truck_back, look), front=partial(_truck_front, look),
    )  # fmt: skip


def _bus_flank(look: BoxLook, figure: Figure, plane: Plane, shade: float) -> None:
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
        paint_wheel(figure, plane, along, 0.5)


def _bus_back(look: BoxLook, figure: Figure, plane: Plane, shade: float) -> None:
    half, top = look.half, look.height
    figure.box(plane, -half * 0.9, 0.0, half * 0.9, 0.5, BLACK)
    figure.box(plane, -half, 0.3, half, top, look.paint, shade=shade)
    figure.box(plane, -half, 0.3, half, 0.75, look.accent, shade=shade)
    figure.box(plane, -half * 0.84, 1.75, half * 0.84, top - 0.4, look.glass, shade=shade)
    for up in (0.95, 1.15, 1.35):
        figure.box(plane, -half * 0.6, up, half * 0.6, up + 0.1, scaled(look.paint, 0.55), shade=shade)
    paint_lamps(figure, plane, half * 0.96, 1.0, 0.28, RED)


def _bus_front(look: BoxLook, figure: Figure, plane: Plane, shade: float) -> None:
    half, top = look.half, look.height
    figure.box(plane, -half * 0.9, 0.0, half * 0.9, 0.5, BLACK)
    figure.box(plane, -half, 0.3, half, top, look.paint, shade=shade)
    figure.box(plane, -half, 0.3, half, 0.75, look.accent, shade=shade)
    figure.box(plane, -half * 0.92, 1.05, half * 0.92, top - 0.55, look.glass, shade=shade)
    figure.box(plane, -half * 0.8, top - 0.45, half * 0.8, top - 0.12, BLACK)
    figure.box(plane, -half * 0.6, top - 0.36, half * 0.5, top - 0.2, AMBER)
    figure.box(plane, -0.04, 1.05, 0.04, top - 0.55, BLACK)
    paint_lamps(figure, plane, half * 0.94, 0.6, 0.24, (246, 240, 214))


def _truck_flank(look: BoxLook, figure: Figure, plane: Plane, shade: float) -> None:
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
        paint_wheel(figure, plane, along, 0.52)


def _truck_back(look: BoxLook, figure: Figure, plane: Plane, shade: float) -> None:
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
    paint_lamps(figure, plane, half * 0.96, 0.62, 0.2, RED)


def _truck_front(look: BoxLook, figure: Figure, plane: Plane, shade: float) -> None:
    half, top = look.half, look.height
    figure.box(plane, -half, 1.0, half, top, look.load, shade=shade * 0.85)
    figure.box(plane, -half * 0.9, 0.0, half * 0.9, 0.5, BLACK)
    figure.box(plane, -half * 0.96, 0.4, half * 0.96, 2.65, look.paint, shade=shade)
    figure.box(plane, -half * 0.86, 1.5, half * 0.86, 2.4, look.glass, shade=shade)
    figure.box(plane, -half * 0.6, 0.75, half * 0.6, 1.3, BLACK, shade=shade)
    for up in (0.9, 1.08):
        figure.box(plane, -half * 0.55, up, half * 0.55, up + 0.06, STEEL, shade=shade)
    figure.box(plane, -half * 0.96, 0.4, half * 0.96, 0.6, scaled(look.paint, 0.6), shade=shade)
    paint_lamps(figure, plane, half * 0.94, 0.62, 0.22, WHITE)
