"""Pascal VOC 2012 as its owner publishes it, with the augmented labels beside it where there are any."""

from __future__ import annotations

from collections.abc import Mapping, Set
from pathlib import Path

from recoseg.data.dataset import Partition, paper_partitions
from recoseg.data.file_dataset import Entry, FileDataset, Owner, by_stem, classes_of, read_keys
from recoseg.data.label_codes import ByValue
from recoseg.types import IGNORE

_HOMES = ("", "VOC2012/", "VOCdevkit/VOC2012/")
_LISTS = "ImageSets/Segmentation"
_VAL_LISTS = (f"{_LISTS}/val.txt", f"{_LISTS}Aug/val.txt")
_AUGMENTED_LISTS = (
    f"{_LISTS}/train_aug.txt", f"{_LISTS}/trainaug.txt",
    f"{_LISTS}Aug/train_aug.txt", f"{_LISTS}Aug/trainaug.txt", f"{_LISTS}Aug/train.txt",
)  # fmt: skip

_OWNER = Owner("Pascal VOC", "VOCtrainval_11-May-2012.tar from host.robots.ox.ac.uk/pascal/VOC/voc2012")


# Bus and car as printed; in VOC's own files each has the other's colour, but labels are read by value.
_CLASSES = classes_of({
    "background": (0, 0, 0), "aeroplane": (128, 0, 0), "bicycle": (0, 128, 0), "bird": (128, 128, 0),
    "boat": (0, 0, 128), "bottle": (128, 0, 128), "bus": (128, 128, 128), "car": (0, 128, 128),
    "cat": (64, 0, 0), "chair": (192, 0, 0), "cow": (64, 128, 0), "table": (192, 128, 0),
    "dog": (64, 0, 128), "horse": (192, 0, 128), "motorbike": (64, 128, 128), "person": (192, 128, 128),
    "plant": (0, 64, 0), "sheep": (128, 64, 0), "sofa": (0, 192, 0), "train": (128, 192, 0),
    "monitor": (0, 64, 128),
})  # fmt: skip


class PascalVOC(FileDataset):
    """`root` is VOC2012, VOCdevkit, or the folder that holds it.

    With SegmentationClassAug, training images are those of the augmented list (10,582), or if there is
    none all that have an augmented label and are not for validation; without it, those of train.txt (1,464).
    Without any of these there are none: val alone is enough to evaluate on.
    """

    name, short_name, title = "pascal_voc", "voc", _OWNER.title
    classes = _CLASSES
    min_classes = 3
    partitions = (
        *paper_partitions(60, 200, 600),
        *(Partition(labels, "list") for labels in (92, 183, 366, 732)),
        *(Partition(labels, "random") for labels in (100, 212, 529, 1323)),
    )

    def __init__(self, *, root: str | Path) -> None:
        self.root = Path(root)
        home = _OWNER.folder(self.root, *(f"{home}JPEGImages" for home in _HOMES)).parent
        images = by_stem(home / "JPEGImages", ".jpg")
        published = by_stem(home / "SegmentationClass", ".png")
        augmented = by_stem(home / "SegmentationClassAug", ".png")
        if not published and not augmented:
            raise _OWNER.missing(home, "SegmentationClass/*.png or SegmentationClassAug/*.png")
        val_list = _OWNER.file(home, *_VAL_LISTS)
        val = _OWNER.present(read_keys(val_list), images, named_by=val_list)
        train, named_by = _train_keys(home, augmented, set(val))
        train = _OWNER.present(train, images, named_by=named_by) if set(train) & images.keys() else []
        test = _unlabelled_keys(home, images)
        entries = {key: Entry(images[key]) for key in test}
        entries |= {key: Entry(images[key], augmented.get(key) or published.get(key)) for key in train}
        entries |= {key: Entry(images[key], published.get(key) or augmented.get(key)) for key in val}
        indices = {index: index for index in range(len(self.classes))}
        super().__init__(
            classes=self.classes,
            entries=entries,
            subsets={"train": train, "val": val, "test": test},
            code=ByValue({**indices, IGNORE: IGNORE}, remedy=_OWNER.restore),
        )


def _train_keys(home: Path, augmented: Mapping[str, Path], val: Set[str]) -> tuple[list[str], Path]:
    """The training images, and the list or folder that names them."""
    if not augmented:
        path = home / f"{_LISTS}/train.txt"
        return (read_keys(path) if path.is_file() else []), path
    for place in _AUGMENTED_LISTS:
        if (home / place).is_file():
            return read_keys(home / place), home / place
    return [key for key in augmented if key not in val], home / "SegmentationClassAug"


def _unlabelled_keys(home: Path, images: Mapping[str, Path]) -> list[str]:
    """The test images that are there: list and images come in an archive of their own."""
    path = home / f"{_LISTS}/test.txt"
    return [key for key in read_keys(path) if key in images] if path.is_file() else []
