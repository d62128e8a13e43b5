"""Settings that say which labels may be seen: `split`."""

from __future__ import annotations

from dataclasses import dataclass

from recoseg.config.setting import setting


@dataclass(frozen=True, kw_only=True)
class SplitSettings:
    """Which labels the run may see."""

    file: str | None = setting(
        None, "a split file to use; otherwise the split is drawn and saved in the run folder", is_path=True
    )
    labels: int | None = setting(
        None,
        "number of labelled training images to use, drawn by the paper's rule: many classes in each, rare "
        "classes as often as others; all if none",
        at_least=1,
    )
    images_per_class: int | None = setting(
        None,
        "draw until every class is in this many images; beside labels: in this many of them",
        at_least=1,
    )
    fraction: str | None = setting(None, "in place of labels: a share of the labelled images, such as 1/8")
    min_classes: int | None = setting(
        None,
        "classes that an image must have to be drawn; if none, the paper's: cityscapes 12, pascal_voc 3, "
        "else 1 (a prepared dataset is a folder: give it, or a partition)",
        at_least=1,
    )
    random: bool = setting(False, "draw the images without regard to their classes")
    partition: str | None = setting(
        None, "a partition of the paper's tables, such as cityscapes-20, voc-60, voc-1323 or sun-50"
    )
    labelled_list: str | None = setting(
        None,
        "a published list of the labelled images: one key or path a line, or 'image label' paths",
        is_path=True,
    )
    unlabelled_list: str | None = setting(
        None, "a list of the unlabelled images; if none, all that are not in labelled_list", is_path=True
    )
    unlabelled: str | None = setting(
        None, "the share of the unlabelled images to use, such as 10%; all if none"
    )
    pixels: str | None = setting(
        None, "labelled pixels of each class in each labelled image: 1, or a percentage such as 5%"
    )
    seed: int = setting(0, "seed of the draw", at_least=0)
