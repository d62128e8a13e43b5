"""SUN RGB-D with its 37 classes: the owner's split of 5,285 and 5,050, and the paper's of 9,860 and 475."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from pathlib import Path

from recoseg.data.dataset import paper_partitions
from recoseg.data.file_dataset import Entry, FileDataset, Owner, by_stem, classes_of
from recoseg.data.label_codes import ByValue
from recoseg.seeds import permutation
from recoseg.text import lookup
from recoseg.types import IGNORE

NUM_IMAGES, _NUM_TEST, _NUM_PAPER_VAL = 10_335, 5_050, 475
_OWNERS_TEST = frozenset(range(1, _NUM_TEST + 1))
_IMAGES = {"test": "SUNRGBD-test_images", "train": "SUNRGBD-train_images"}
_LABELS = ("sunrgbd_train_test_labels", "sunrgbd-train_test_labels")
_LABELS_APART = {"test": "test37labels", "train": "train37labels"}

_OWNER = Owner(
    "SUN RGB-D",
    "SUNRGBD-train_images.tgz, SUNRGBD-test_images.tgz and sunrgbd_train_test_labels.tar.gz "
    "by github.com/ankurhanda/sunrgbd-meta-data (the data's home is rgbd.cs.princeton.edu)",
)


_CLASSES = classes_of({
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


class SunRGBD(FileDataset):
    """`root` holds the two folders of images and the labels, numbered through: 1-5050 test, the rest train.

    `split` "original" validates on the owner's 5,050 test images, "paper" on 475 of all 10,335, drawn once
    and for all by number. A key is the name of the label, such as img-005051. For "original", the training
    images may be missing: its validation images alone are enough to evaluate on.
    """

    name, short_name, title = "sun_rgbd", "sun", _OWNER.title
    classes = _CLASSES
    paper_size = (384, 512)
    partitions = paper_partitions(50, 150, 500)

    def __init__(self, *, root: str | Path, split: str = "paper") -> None:
        self.root = Path(root)
        val = lookup({"paper": paper_val(), "original": _OWNERS_TEST}, split, what="split of SUN RGB-D")
        images = _find_images(self.root, val)
        labels = _find_labels(self.root)
        if not images.keys() & labels.keys():
            raise _OWNER.missing(self.root, f"labels {_LABELS[0]}/img-*.png that belong to the images")
        numbers = sorted(images)
        super().__init__(
            classes=self.classes,
            entries={key_of(number): Entry(images[number], labels.get(number)) for number in numbers},
            subsets={
                "train": [key_of(number) for number in numbers if number not in val],
                "val": [key_of(number) for number in numbers if number in val],
            },
            code=ByValue(
                {0: IGNORE, **{index + 1: index for index in range(len(self.classes))}}, remedy=_OWNER.restore
            ),
        )


def _find_images(root: Path, val: Set[int]) -> dict[int, Path]:
    """The images by their number among all; a folder may be missing that has none of `val`."""
    images: dict[int, Path] = {}
    for part, folder in _IMAGES.items():
        if part == "train" and max(val) <= _NUM_TEST and not (root / folder).is_dir():
            continue
        found = _numbered(_OWNER.folder(root, folder), ".jpg")
        if not found:
            raise _OWNER.missing(root / folder, "img-*.jpg")
        images |= _number_through(part, found)
    return images


def _find_labels(root: Path) -> dict[int, Path]:
    """The labels by number, from one folder for both parts or one for each."""
    if any((root / folder).is_dir() for folder in _LABELS_APART.values()):
        parts = {part: _numbered(root / folder, ".png") for part, folder in _LABELS_APART.items()}
        return _number_through("test", parts["test"]) | _number_through("train", parts["train"])
    return _numbered(_OWNER.folder(root, *_LABELS), ".png")


def _numbered(folder: Path, suffix: str) -> dict[int, Path]:
    """The files of a folder by the number that their name ends in."""
    ends = {path: re.search(r"\d+$", stem) for stem, path in by_stem(folder, suffix).items()}
    return {int(end[0]): path for path, end in ends.items() if end}


def _number_through(part: str, files: Mapping[int, Path]) -> dict[int, Path]:
    """Train files that count from 1 follow the test files; some copies number them so already."""
    offset = _NUM_TEST if part == "train" and min(files, default=1) <= _NUM_TEST else 0
    return {number + offset: path for number, path in files.items()}


def key_of(number: int) -> str:
    return f"img-{number:06d}"


def paper_val() -> frozenset[int]:
    """The numbers of the 475 validation images; whichever files there are, none changes sides."""
    order = permutation(NUM_IMAGES, 0, "sun_rgbd: the paper's validation images")
    return frozenset(place + 1 for place in order[:_NUM_PAPER_VAL])
