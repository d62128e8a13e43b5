"""The columns of tables: a dataset, and which of its labels may be seen."""

from __future__ import annotations

from dataclasses import dataclass

from recoseg.splits.partitions import PARTITIONS

DATASETS = {
    "voc": "Pascal VOC",
    "cityscapes": "Cityscapes",
    "sun": "SUN RGB-D",
    "camvid": "CamVid",
    "scenes": "drawn scenes",
}
"""Names of datasets here, in profiles and in `--data NAME=FOLDER` -> titles."""

DRAWN = ("scenes",)
"""Those that need no folder of images."""

PIXELS = {"1-pixel": "1", "1%": "1%", "5%": "5%", "25%": "25%"}
"""What of each class in each image is labelled, by its name in columns -> its setting."""


@dataclass(frozen=True)
class Column:
    """`settings` make the split; `seeded` where it is drawn, so that every seed has another."""

    dataset: str
    title: str
    settings: tuple[str, ...] = ()
    seeded: bool = True
    subset: str = "val"  # what is scored
    published_list: bool = False  # labelled images by a list that others published


def few_images() -> dict[str, Column]:
    """The paper's partitions, by their names."""
    return {
        name: Column(
            name.partition("-")[0],
            f"{partition.labels} labelled images",
            ("--split.partition", name),
            seeded=partition.draw != "list",
            published_list=partition.draw == "list",
        )
        for name, partition in PARTITIONS.items()
    }


def few_pixels(dataset: str) -> dict[str, Column]:
    titles = {"1-pixel": "1 pixel"}
    return {
        f"{dataset}-{name}": Column(
            dataset, f"{titles.get(name, name)} of each class in every image", ("--split.pixels", setting)
        )
        for name, setting in PIXELS.items()
    }


COLUMNS = {
    **few_images(),
    **{f"{name}-all": Column(name, "all labels", seeded=False) for name in ("voc", "cityscapes", "sun")},
    **few_pixels("voc"),
    **few_pixels("cityscapes"),
    "camvid-20": Column("camvid", "20 labelled images", ("--split.labels", "20"), subset="test"),
    "camvid-all": Column("camvid", "all labels", seeded=False, subset="test"),
    "scenes-10": Column("scenes", "10 labelled images", ("--split.labels", "10")),
}
