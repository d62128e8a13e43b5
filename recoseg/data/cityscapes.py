"""Cityscapes with fine labels, as its owner publishes it: 19 classes, all other ids void."""

from __future__ import annotations

from pathlib import Path

from recoseg.data.base import SUBSETS
from recoseg.data.files import Entry, FileDataset
from recoseg.data.label_codes import ByValue, Labels
from recoseg.data.owner import Owner
from recoseg.data.published_classes import CITYSCAPES
from recoseg.types import IGNORE

IDS = (7, 8, 11, 12, 13, 17, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 31, 32, 33)  # in files of label ids
LAST_ID = 33  # also of the void ones; the licence plate's, -1, is 255 in 8 bits

IMAGE, TRAIN_IDS, LABEL_IDS = "_leftImg8bit.png", "_gtFine_labelTrainIds.png", "_gtFine_labelIds.png"

OWNER = Owner(
    "Cityscapes",
    "leftImg8bit_trainvaltest.zip and gtFine_trainvaltest.zip from www.cityscapes-dataset.com",
)


class CityscapesCode:
    """Label files of both kinds, told apart by their name."""

    def __init__(self) -> None:
        void = dict.fromkeys([*range(LAST_ID + 1), IGNORE], IGNORE)
        label_ids = {label_id: index for index, label_id in enumerate(IDS)}
        train_ids = {index: index for index in range(len(IDS))}
        self._label_ids = ByValue({**void, **label_ids}, remedy=OWNER.restore)
        self._train_ids = ByValue({**train_ids, IGNORE: IGNORE}, remedy=OWNER.restore)

    def decode(self, path: Path) -> Labels:
        code = self._train_ids if path.name.endswith(TRAIN_IDS) else self._label_ids
        return code.decode(path)


class Cityscapes(FileDataset):
    """`root` holds leftImg8bit/ and gtFine/; a key is such as aachen/aachen_000000_000019.

    Files of train ids are preferred to those of label ids. The test images count as unlabelled: their
    labels are the owner's secret, and the files published in their place are void. Training images may be
    missing: val alone is enough to evaluate on.
    """

    name = "cityscapes"

    def __init__(self, *, root: str | Path) -> None:
        self.root = Path(root)
        images = OWNER.folder(self.root, "leftImg8bit", "leftImg8bit_trainvaltest/leftImg8bit")
        labels = OWNER.folder(self.root, "gtFine", "gtFine_trainvaltest/gtFine")
        found = {subset: find_entries(images / subset, labels / subset) for subset in SUBSETS}
        if not found["val"]:
            raise OWNER.missing(images, f"val/*/*{IMAGE}")
        for subset in ("train", "val"):
            if found[subset] and not any(entry.labels for entry in found[subset].values()):
                raise OWNER.missing(labels, f"{subset}/*/*{LABEL_IDS}")
        test = {key: Entry(entry.image) for key, entry in found["test"].items()}
        super().__init__(
            classes=CITYSCAPES,
            entries=found["train"] | found["val"] | test,
            subsets={subset: list(entries) for subset, entries in found.items()},
            code=CityscapesCode(),
        )


def find_entries(images: Path, labels: Path) -> dict[str, Entry]:
    """The files of one subset by key, sorted."""
    entries = {}
    for image in sorted(images.glob(f"*/*{IMAGE}")):
        key = f"{image.parent.name}/{image.name.removesuffix(IMAGE)}"
        of_either_kind = (labels / f"{key}{kind}" for kind in (TRAIN_IDS, LABEL_IDS))
        entries[key] = Entry(image, next((path for path in of_either_kind if path.is_file()), None))
    return entries
