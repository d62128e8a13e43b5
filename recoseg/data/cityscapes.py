"""Cityscapes with fine labels, as its owner publishes it: 19 classes, all other ids void."""

from __future__ import annotations

from pathlib import Path

from recoseg.data.dataset import SUBSETS, Partition, paper_partitions
from recoseg.data.file_dataset import Entry, FileDataset, Owner, classes_of
from recoseg.data.label_codes import ByValue, Labels
from recoseg.types import IGNORE

IDS = (7, 8, 11, 12, 13, 17, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 31, 32, 33)  # in files of label ids
_LAST_ID = 33  # also of the void ones; the licence plate's, -1, is 255 in 8 bits

_IMAGE, _TRAIN_IDS, _LABEL_IDS = "_leftImg8bit.png", "_gtFine_labelTrainIds.png", "_gtFine_labelIds.png"
NAME_ENDINGS = tuple(ending.removesuffix(".png") for ending in (_IMAGE, _TRAIN_IDS, _LABEL_IDS))
"""What is added to the name of a picture; published lists keep it, keys do not."""

_OWNER = Owner(
    "Cityscapes",
    "leftImg8bit_trainvaltest.zip and gtFine_trainvaltest.zip from www.cityscapes-dataset.com",
)


_CLASSES = classes_of({
    "road": (128, 64, 128), "sidewalk": (244, 35, 232), "building": (70, 70, 70), "wall": (102, 102, 156),
    "fence": (190, 153, 153), "pole": (153, 153, 153), "traffic light": (250, 170, 30),
    "traffic sign": (220, 220, 0), "vegetation": (107, 142, 35), "terrain": (152, 251, 152),
    "sky": (70, 130, 180), "person": (220, 20, 60), "rider": (255, 0, 0), "car": (0, 0, 142),
    "truck": (0, 0, 70), "bus": (0, 60, 100), "train": (0, 80, 100), "motorcycle": (0, 0, 230),
    "bicycle": (119, 11, 32),
})  # fmt: skip


class _CityscapesCode:
    """Label files of both kinds, told apart by their name."""

    def __init__(self) -> None:
        void = dict.fromkeys([*range(_LAST_ID + 1), IGNORE], IGNORE)
        label_ids = {label_id: index for index, label_id in enumerate(IDS)}
        train_ids = {index: index for index in range(len(IDS))}
        self._label_ids = ByValue({**void, **label_ids}, remedy=_OWNER.restore)
        self._train_ids = ByValue({**train_ids, IGNORE: IGNORE}, remedy=_OWNER.restore)

    def decode(self, path: Path) -> Labels:
        code = self._train_ids if path.name.endswith(_TRAIN_IDS) else self._label_ids
        return code.decode(path)


class Cityscapes(FileDataset):
    """`root` holds leftImg8bit/ and gtFine/; a key is such as aachen/aachen_000000_000019.

    Files of train ids are preferred to those of label ids. The test images count as unlabelled: their
    labels are the owner's secret, and the files published in their place are void. Training images may be
    missing: val alone is enough to evaluate on.
    """

    name, short_name, title = "cityscapes", "cityscapes", _OWNER.title
    classes = _CLASSES
    min_classes = 12
    paper_size = (512, 1024)
    partitions = (
        *paper_partitions(20, 50, 150),
        *(Partition(labels, "random") for labels in (100, 372, 744, 1488)),
    )

    def __init__(self, *, root: str | Path) -> None:
        self.root = Path(root)
        images = _OWNER.folder(self.root, "leftImg8bit", "leftImg8bit_trainvaltest/leftImg8bit")
        labels = _OWNER.folder(self.root, "gtFine", "gtFine_trainvaltest/gtFine")
        found = {subset: _find_entries(images / subset, labels / subset) for subset in SUBSETS}
        if not found["val"]:
            raise _OWNER.missing(images, f"val/*/*{_IMAGE}")
        for subset in ("train", "val"):
            if found[subset] and not any(entry.labels for entry in found[subset].values()):
                raise _OWNER.missing(labels, f"{subset}/*/*{_LABEL_IDS}")
        test = {key: Entry(entry.image) for key, entry in found["test"].items()}
        super().__init__(
            classes=self.classes,
            entries=found["train"] | found["val"] | test,
            subsets={subset: list(entries) for subset, entries in found.items()},
            code=_CityscapesCode(),
        )


def _find_entries(images: Path, labels: Path) -> dict[str, Entry]:
    """The files of one subset by key, sorted."""
    entries = {}
    for image in sorted(images.glob(f"*/*{_IMAGE}")):
        key = f"{image.parent.name}/{image.name.removesuffix(_IMAGE)}"
        of_either_kind = (labels / f"{key}{kind}" for kind in (_TRAIN_IDS, _LABEL_IDS))
        entries[key] = Entry(image, next((path for path in of_either_kind if path.is_file()), None))
    return entries
