"""Classes of the published datasets, in the colours of the paper's figures (CamVid in those of SegNet's)."""

from __future__ import annotations

from collections.abc import Mapping

from recoseg.data.label_codes import Colour
from recoseg.types import ClassInfo


def classes_of(colours: Mapping[str, Colour]) -> ClassInfo:
    """The classes of a table of names and colours, in its order."""
    return ClassInfo(tuple(colours), tuple(colours.values()))


# Bus and car as printed; in VOC's own files each has the other's colour, but labels are read by value.
PASCAL_VOC = classes_of({
    "background": (0, 0, 0), "aeroplane": (128, 0, 0), "bicycle": (0, 128, 0), "bird": (128, 128, 0),
    "boat": (0, 0, 128), "bottle": (128, 0, 128), "bus": (128, 128, 128), "car": (0, 128, 128),
    "cat": (64, 0, 0), "chair": (192, 0, 0), "cow": (64, 128, 0), "table": (192, 128, 0),
    "dog": (64, 0, 128), "horse": (192, 0, 128), "motorbike": (64, 128, 128), "person": (192, 128, 128),
    "plant": (0, 64, 0), "sheep": (128, 64, 0), "sofa": (0, 192, 0), "train": (128, 192, 0),
    "monitor": (0, 64, 128),
})  # fmt: skip

CITYSCAPES = classes_of({
    "road": (128, 64, 128), "sidewalk": (244, 35, 232), "building": (70, 70, 70), "wall": (102, 102, 156),
    "fence": (190, 153, 153), "pole": (153, 153, 153), "traffic light": (250, 170, 30),
    "traffic sign": (220, 220, 0), "vegetation": (107, 142, 35), "terrain": (152, 251, 152),
    "sky": (70, 130, 180), "person": (220, 20, 60), "rider": (255, 0, 0), "car": (0, 0, 142),
    "truck": (0, 0, 70), "bus": (0, 60, 100), "train": (0, 80, 100), "motorcycle": (0, 0, 230),
    "bicycle": (119, 11, 32),
})  # fmt: skip

SUN_RGBD = classes_of({
    "wall": (148, 65, 137), "floor": (255, 116, 69), "cabinet": (86, 156, 137), "bed": (202, 179, 158),
    "chair": (155, 99, 235), "sofa": (161, 107, 108), "table": (133, 160, 103), "door": (76, 152, 126),
    "window": (84, 62, 35), "bookshelf": (44, 80, 130), "picture": (31, 184, 157), "counter": (101, 144, 77),
    "blinds": (23, 197, 62), "desk": (141, 168, 145), "shelves": (142, 151, 136), "curtain": (115, 201, 77),
    "dresser": (100, 216, 255), "pillow": (57, 156, 36), "mirror": (88, 108, 129),
    "floor mat": (105, 129, 112), "clothes": (42, 137, 126), "ceiling": (155, 108, 249),
    "books": (166, 148, 143), "fridge": (81, 91, 87), "tv": (100, 124, 51), "paper": (73, 131, 121),
    "towel": (157, 210, 220), "bath curtain": (134, 181, 60), "box": (221, 223, 147),
    "whiteboard": (123, 108, 131), "person": (161, 66, 179), "nightstand": (163, 221, 160),
    "toilet": (31, 146, 98), "sink": (99, 121, 30), "lamp": (49, 89, 240), "bathtub": (116, 108, 9),
    "bag": (161, 176, 169),
})  # fmt: skip

CAMVID = classes_of({
    "sky": (128, 128, 128), "building": (128, 0, 0), "pole": (192, 192, 128), "road": (128, 64, 128),
    "pavement": (60, 40, 222), "tree": (128, 128, 0), "sign symbol": (192, 128, 128),
    "fence": (64, 64, 128), "car": (64, 0, 128), "pedestrian": (64, 64, 0), "bicyclist": (0, 128, 192),
})  # fmt: skip

CAMVID_GROUPS: Mapping[str, Mapping[str, Colour]] = {
    "sky": {"Sky": (128, 128, 128)},
    "building": {
        "Archway": (192, 0, 128), "Bridge": (0, 128, 64), "Building": (128, 0, 0), "Tunnel": (64, 0, 64),
        "Wall": (64, 192, 0),
    },
    "pole": {"Column_Pole": (192, 192, 128), "TrafficCone": (0, 0, 64)},
    "road": {"LaneMkgsDriv": (128, 0, 192), "LaneMkgsNonDriv": (192, 0, 64), "Road": (128, 64, 128)},
    "pavement": {
        "ParkingBlock": (64, 192, 128), "RoadShoulder": (128, 128, 192), "Sidewalk": (0, 0, 192),
    },
    "tree": {"Tree": (128, 128, 0), "VegetationMisc": (192, 192, 0)},
    "sign symbol": {
        "Misc_Text": (128, 128, 64), "SignSymbol": (192, 128, 128), "TrafficLight": (0, 64, 64),
    },
    "fence": {"Fence": (64, 64, 128)},
    "car": {
        "Car": (64, 0, 128), "OtherMoving": (128, 64, 64), "SUVPickupTruck": (64, 128, 192),
        "Train": (192, 64, 128), "Truck_Bus": (192, 128, 192),
    },
    "pedestrian": {
        "Animal": (64, 128, 64), "CartLuggagePram": (64, 0, 192), "Child": (192, 128, 64),
        "Pedestrian": (64, 64, 0),
    },
    "bicyclist": {"Bicyclist": (0, 128, 192), "MotorcycleScooter": (192, 0, 192)},
}  # fmt: skip
"""CamVid's own 32 classes and colours, as put together in the 11; the last one, Void, is black."""
