"""Pascal VOC 2012 as its owner publishes it, with the augmented labels beside it where there are any."""

from __future__ import annotations

from collections.abc import Mapping, Set
from pathlib import Path

from recoseg.data.files import Entry, FileDataset
from recoseg.data.label_codes import ByValue
from recoseg.data.owner import Owner, by_stem, read_keys
from recoseg.data.published_classes import PASCAL_VOC
from recoseg.types import IGNORE

HOMES = ("", "VOC2012/", "VOCdevkit/VOC2012/")
LISTS = "ImageSets/Segmentation"
VAL_LISTS = (f"{LISTS}/val.txt", f"{LISTS}Aug/val.txt")
AUGMENTED_LISTS = (
    f"{LISTS}/train_aug.txt", f"{LISTS}/trainaug.txt",
    f"{LISTS}Aug/train_aug.txt", f"{LISTS}Aug/trainaug.txt", f"{LISTS}Aug/train.txt",
)  # fmt: skip

OWNER = Owner("Pascal VOC", "VOCtrainval_11-May-2012.tar from host.robots.ox.ac.uk/pascal/VOC/voc2012")


class PascalVOC(FileDataset):
    """`root` is VOC2012, VOCdevkit, or the folder that holds it.

    With SegmentationClassAug, training images are those of the augmented list (10,582), or if there is
    none all that have an augmented label and are not for validation; without it, those of train.txt (1,464).
    Without any of these there are none: val alone is enough to evaluate on.
    """

    name = "pascal_voc"

    def __init__(self, *, root: str | Path) -> None:
        self.root = Path(root)
        home = OWNER.folder(self.root, *(f"{home}JPEGImages" for home in HOMES)).parent
        images = by_stem(home / "JPEGImages", ".jpg")
        published = by_stem(home / "SegmentationClass", ".png")
        augmented = by_stem(home / "SegmentationClassAug", ".png")
        if not published and not augmented:
            raise OWNER.missing(home, "SegmentationClass/*.png or SegmentationClassAug/*.png")
        val_list = OWNER.file(home, *VAL_LISTS)
        val = OWNER.present(read_keys(val_list), images, named_by=val_list)
        train, named_by = train_keys(home, augmented, set(val))
        train = OWNER.present(train, images, named_by=named_by) if set(train) & images.keys() else []
        test = unlabelled_keys(home, images)
        entries = {key: Entry(images[key]) for key in test}
        entries |= {key: Entry(images[key], augmented.get(key) or published.get(key)) for key in train}
        entries |= {key: Entry(images[key], published.get(key) or augmented.get(key)) for key in val}
        indices = {index: index for index in range(len(PASCAL_VOC))}
        super().__init__(
            classes=PASCAL_VOC,
            entries=entries,
            subsets={"train": train, "val": val, "test": test},
            code=ByValue({**indices, IGNORE: IGNORE}, remedy=OWNER.restore),
        )


def train_keys(home: Path, augmented: Mapping[str, Path], val: Set[str]) -> tuple[list[str], Path]:
    """The training images, and the list or folder that names them."""
    if not augmented:
        path = home / f"{LISTS}/train.txt"
        return (read_keys(path) if path.is_file() else []), path
    for place in AUGMENTED_LISTS:
        if (home / place).is_file():
            return read_keys(home / place), home / place
    return [key for key in augmented if key not in val], home / "SegmentationClassAug"


def unlabelled_keys(home: Path, images: Mapping[str, Path]) -> list[str]:
    """The test images that are there: list and images come in an archive of their own."""
    path = home / f"{LISTS}/test.txt"
    return [key for key in read_keys(path) if key in images] if path.is_file() else []
