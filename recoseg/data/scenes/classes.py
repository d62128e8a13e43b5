"""The classes of the street scenes, their names and the colours that label pictures show them in."""

from __future__ import annotations

from enum import IntEnum

from recoseg.types import ClassInfo


class Kind(IntEnum):
    """The label of a pixel; the order is that of Cityscapes, which these scenes resemble."""

    ROAD = 0
    SIDEWALK = 1
    BUILDING = 2
    WALL = 3
    FENCE = 4
    POLE = 5
    TRAFFIC_LIGHT = 6
    TRAFFIC_SIGN = 7
    VEGETATION = 8
    SKY = 9
    PERSON = 10
    RIDER = 11
    CAR = 12
    TRUCK = 13
    BUS = 14
    BICYCLE = 15


PALETTE = {
    Kind.ROAD: (128, 64, 128),
    Kind.SIDEWALK: (244, 35, 232),
    Kind.BUILDING: (70, 70, 70),
    Kind.WALL: (102, 102, 156),
    Kind.FENCE: (190, 153, 153),
    Kind.POLE: (153, 153, 153),
    Kind.TRAFFIC_LIGHT: (250, 170, 30),
    Kind.TRAFFIC_SIGN: (220, 220, 0),
    Kind.VEGETATION: (107, 142, 35),
    Kind.SKY: (70, 130, 180),
    Kind.PERSON: (220, 20, 60),
    Kind.RIDER: (255, 0, 0),
    Kind.CAR: (0, 0, 142),
    Kind.TRUCK: (0, 0, 70),
    Kind.BUS: (0, 60, 100),
    Kind.BICYCLE: (119, 11, 32),
}

CLASSES = ClassInfo(
    names=tuple(kind.name.lower().replace("_", " ") for kind in Kind),
    palette=tuple(PALETTE[kind] for kind in Kind),
)
