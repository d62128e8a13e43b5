"""SUN RGB-D with its 37 classes: the owner's split of 5,285 and 5,050, and the paper's of 9,860 and 475."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from pathlib import Path

from recoseg.data.files import Entry, FileDataset
from recoseg.data.label_codes import ByValue
from recoseg.data.owner import Owner, by_stem
from recoseg.data.published_classes import SUN_RGBD
from recoseg.lookup import lookup
from recoseg.seeds import permutation
from recoseg.types import IGNORE

NUM_IMAGES, NUM_TEST, NUM_PAPER_VAL = 10_335, 5_050, 475
OWNERS_TEST = frozenset(range(1, NUM_TEST + 1))
IMAGES = {"test": "SUNRGBD-test_images", "train": "SUNRGBD-train_images"}
LABELS = ("sunrgbd_train_test_labels", "sunrgbd-train_test_labels")
LABELS_APART = {"test": "test37labels", "train": "train37labels"}

OWNER = Owner(
    "SUN RGB-D",
    "SUNRGBD-train_images.tgz, SUNRGBD-test_images.tgz and sunrgbd_train_test_labels.tar.gz "
    "by github.com/ankurhanda/sunrgbd-meta-data (the data's home is rgbd.cs.princeton.edu)",
)


class SunRGBD(FileDataset):
    """`root` holds the two folders of images and the labels, numbered through: 1-5050 test, the rest train.

    `split` "original" validates on the owner's 5,050 test images, "paper" on 475 of all 10,335, drawn once
    and for all by number. A key is the name of the label, such as img-005051. For "original", the training
    images may be missing: its validation images alone are enough to evaluate on.
    """

    name = "sun_rgbd"

    def __init__(self, *, root: str | Path, split: str = "paper") -> None:
        self.root = Path(root)
        val = lookup({"paper": paper_val(), "original": OWNERS_TEST}, split, what="split of SUN RGB-D")
        images = find_images(self.root, val)
        labels = find_labels(self.root)
        if not images.keys() & labels.keys():
            raise OWNER.missing(self.root, f"labels {LABELS[0]}/img-*.png that belong to the images")
        numbers = sorted(images)
        super().__init__(
            classes=SUN_RGBD,
            entries={key_of(number): Entry(images[number], labels.get(number)) for number in numbers},
            subsets={
                "train": [key_of(number) for number in numbers if number not in val],
                "val": [key_of(number) for number in numbers if number in val],
            },
            code=ByValue(
                {0: IGNORE, **{index + 1: index for index in range(len(SUN_RGBD))}}, remedy=OWNER.restore
            ),
        )


def find_images(root: Path, val: Set[int]) -> dict[int, Path]:
    """The images by their number among all; a folder may be missing that has none of `val`."""
    images: dict[int, Path] = {}
    for part, folder in IMAGES.items():
        if part == "train" and max(val) <= NUM_TEST and not (root / folder).is_dir():
            continue
        found = numbered(OWNER.folder(root, folder), ".jpg")
        if not found:
            raise OWNER.missing(root / folder, "img-*.jpg")
        images |= number_through(part, found)
    return images


def find_labels(root: Path) -> dict[int, Path]:
    """The labels by number, from one folder for both parts or one for each."""
    if any((root / folder).is_dir() for folder in LABELS_APART.values()):
        parts = {part: numbered(root / folder, ".png") for part, folder in LABELS_APART.items()}
        return number_through("test", parts["test"]) | number_through("train", parts["train"])
    return numbered(OWNER.folder(root, *LABELS), ".png")


def numbered(folder: Path, suffix: str) -> dict[int, Path]:
    """The files of a folder by the number that their name ends in."""
    ends = {path: re.search(r"\d+$", stem) for stem, path in by_stem(folder, suffix).items()}
    return {int(end[0]): path for path, end in ends.items() if end}


def number_through(part: str, files: Mapping[int, Path]) -> dict[int, Path]:
    """Train files that count from 1 follow the test files; some copies number them so already."""
    offset = NUM_TEST if part == "train" and min(files, default=1) <= NUM_TEST else 0
    return {number + offset: path for number, path in files.items()}


def key_of(number: int) -> str:
    return f"img-{number:06d}"


def paper_val() -> frozenset[int]:
    """The numbers of the 475 validation images; whichever files there are, none changes sides."""
    order = permutation(NUM_IMAGES, 0, "sun_rgbd: the paper's validation images")
    return frozenset(place + 1 for place in order[:NUM_PAPER_VAL])
