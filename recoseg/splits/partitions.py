"""The partitions of the paper's tables by name: how many labelled images, and how they are found."""

from __future__ import annotations

from dataclasses import dataclass

from recoseg.data.base import Dataset
from recoseg.errors import UserError


@dataclass(frozen=True)
class Partition:
    """One column of a table. `draw` is "paper", "random", or "list": a list that others published."""

    dataset: str
    num_classes: int
    labels: int
    draw: str
    images_per_class: int | None = None
    min_classes: int | None = None

    def require_fits(self, name: str, dataset: Dataset) -> None:
        """The dataset it was made for, or a folder with as many classes, such as a prepared copy."""
        if dataset.name not in (self.dataset, "folder") or len(dataset.classes) != self.num_classes:
            raise UserError(
                f"partition {name!r} is of {self.dataset} with {self.num_classes} classes; "
                f"this is {dataset.name!r} with {len(dataset.classes)}"
            )


DATASETS = {"voc": ("pascal_voc", 21), "cityscapes": ("cityscapes", 19), "sun": ("sun_rgbd", 37)}
"""name in partitions -> name of the dataset, number of classes"""

PAPER_DRAWS = {"voc": (3, (60, 200, 600)), "cityscapes": (12, (20, 50, 150)), "sun": (1, (50, 150, 500))}
"""name -> classes that an image must have, labelled images at 5, 15 and 50 images of every class"""

OTHER_DRAWS = {
    ("voc", "list"): (92, 183, 366, 732),
    ("voc", "random"): (100, 212, 529, 1323),
    ("cityscapes", "random"): (100, 372, 744, 1488),
}


def paper_partitions() -> dict[str, Partition]:
    """All of the paper's tables, by names such as cityscapes-20."""
    table = {}
    for short, (min_classes, budgets) in PAPER_DRAWS.items():
        for labels, images_per_class in zip(budgets, (5, 15, 50), strict=True):
            table[f"{short}-{labels}"] = Partition(
                *DATASETS[short],
                labels=labels,
                draw="paper",
                images_per_class=images_per_class,
                min_classes=min_classes,
            )
    for (short, draw), more_budgets in OTHER_DRAWS.items():
        for labels in more_budgets:
            table[f"{short}-{labels}"] = Partition(*DATASETS[short], labels=labels, draw=draw)
    return table


PARTITIONS = paper_partitions()
