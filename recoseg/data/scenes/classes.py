"""The classes of drawn scenes, fine and coarse; order and colours are those of Cityscapes."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from recoseg.types import IGNORE, ClassInfo


class Kind(IntEnum):
    """The label of a pixel."""

    (ROAD, SIDEWALK, BUILDING, WALL, FENCE, POLE, TRAFFIC_LIGHT, TRAFFIC_SIGN,
     VEGETATION, SKY, PERSON, RIDER, CAR, TRUCK, BUS, BICYCLE) = range(16)  # fmt: skip


CLASSES = ClassInfo(
    names=tuple(kind.name.lower().replace("_", " ") for kind in Kind),
    palette=(
        (128, 64, 128), (244, 35, 232), (70, 70, 70), (102, 102, 156), (190, 153, 153), (153, 153, 153),
        (250, 170, 30), (220, 220, 0), (107, 142, 35), (70, 130, 180), (220, 20, 60), (255, 0, 0),
        (0, 0, 142), (0, 0, 70), (0, 60, 100), (119, 11, 32),
    ),
)  # fmt: skip

_GROUPS = {
    "ground": (Kind.ROAD, Kind.SIDEWALK),
    "construction": (Kind.BUILDING, Kind.WALL, Kind.FENCE),
    "vegetation": (Kind.VEGETATION,),
    "sky": (Kind.SKY,),
    "vehicle": (Kind.CAR, Kind.TRUCK, Kind.BUS, Kind.BICYCLE),
}
COARSE_CLASSES = ClassInfo(tuple(_GROUPS), tuple(CLASSES.palette[kinds[0]] for kinds in _GROUPS.values()))

#: The coarse class of each label; people, poles, lights and signs have none.
COARSE_OF_LABEL = np.full(256, IGNORE, dtype=np.uint8)
for _number, _kinds in enumerate(_GROUPS.values()):
    COARSE_OF_LABEL[list(_kinds)] = _number
