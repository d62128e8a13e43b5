"""Settings -> the split of a run: that of a file, or a new one by the rule that they choose."""

from __future__ import annotations

from pathlib import Path

from recoseg.config.split_settings import SplitSettings
from recoseg.data.dataset import Dataset
from recoseg.data.worker_processes import Progress
from recoseg.errors import UserError
from recoseg.splits import (
    ClassCounter,
    LabelSplit,
    PixelBudget,
    all_labels,
    few_images,
    few_pixels,
    listed_images,
    partition_images,
    random_images,
    some_unlabelled,
)
from recoseg.splits.class_index import class_counter
from recoseg.splits.labelled_images import num_of_share

_ALONE = {
    "partition": {"labelled_list", "unlabelled_list", "unlabelled", "pixels", "seed"},
    "labelled_list": {"partition", "unlabelled_list", "unlabelled", "pixels", "seed"},
    "fraction": {"images_per_class", "random", "min_classes", "unlabelled", "pixels", "seed"},
    "random": {"labels", "fraction", "unlabelled", "pixels", "seed"},
}
"""setting -> what may be given beside it; for the others, all that these do not exclude."""

_NEEDS = {
    "random": ("labels", "fraction"),
    "min_classes": ("labels", "fraction", "images_per_class"),
    "unlabelled_list": ("labelled_list",),
}
"""setting -> those of which one must be given too."""


def build_split(
    section: SplitSettings,
    dataset: Dataset,
    *,
    num_workers: int | None = None,
    progress: Progress | None = None,
) -> LabelSplit:
    """The split of a file, or a new one; reading labels for it may take `num_workers` processes."""
    _require_sense(section)
    if section.file is not None:
        for name in _given(section):
            raise UserError(f"split.{name} has no effect beside split.file: give one of them")
        split = LabelSplit.load(Path(section.file))
        split.check_fits(dataset)
        return split
    return _draw(section, dataset, class_counter(num_workers=num_workers, progress=progress))


def _given(section: SplitSettings) -> list[str]:
    """The settings, beside a file, that are not at their defaults."""
    usual = SplitSettings(file=section.file)
    return [name for name in section.__struct_fields__ if getattr(section, name) != getattr(usual, name)]


def _require_sense(section: SplitSettings) -> None:
    """An error that names a setting without effect, if there is one."""
    given = _given(section)
    for name in given:
        for other in given:
            if name in _ALONE and other != name and other not in _ALONE[name]:
                raise UserError(f"{other} has no effect beside {name}: give one of them")
        if name in _NEEDS and not any(needed in given for needed in _NEEDS[name]):
            raise UserError(f"{name} has no effect without {' or '.join(_NEEDS[name])}")
    if "seed" in given and not _draws(section):
        raise UserError("seed has no effect where nothing is drawn: leave it out")


def _draws(section: SplitSettings) -> bool:
    drawn_images = section.labels or section.images_per_class or section.fraction or section.partition
    return bool(section.pixels or section.unlabelled or (drawn_images and not section.labelled_list))


def _draw(section: SplitSettings, dataset: Dataset, counter: ClassCounter) -> LabelSplit:
    """The split that was asked for; all labels if nothing was."""
    pixels = PixelBudget.parse(section.pixels) if section.pixels else None
    split = _draw_images(section, dataset, counter)
    if section.unlabelled is not None:
        split = some_unlabelled(split, section.unlabelled, seed=section.seed)
    if pixels is None:
        return split
    return few_pixels(
        dataset,
        split,
        pixels=pixels,
        seed=section.seed,
        num_workers=counter.num_workers,
        progress=counter.progress,
    )


def _draw_images(section: SplitSettings, dataset: Dataset, counter: ClassCounter) -> LabelSplit:
    labelled_list = Path(section.labelled_list) if section.labelled_list is not None else None
    unlabelled_list = Path(section.unlabelled_list) if section.unlabelled_list else None
    if section.partition is not None:
        return partition_images(
            dataset,
            section.partition,
            labelled_list=labelled_list,
            unlabelled_list=unlabelled_list,
            seed=section.seed,
            counter=counter,
        )
    if labelled_list is not None:
        return listed_images(
            dataset, labelled_list=labelled_list, unlabelled_list=unlabelled_list, counter=counter
        )
    labels = section.labels if section.fraction is None else num_of_share(dataset, section.fraction)
    if labels is None and section.images_per_class is None:
        return all_labels(dataset)
    if section.random and labels is not None:
        return random_images(dataset, labels=labels, seed=section.seed, counter=counter)
    return few_images(
        dataset,
        labels=labels,
        images_per_class=section.images_per_class,
        min_classes=section.min_classes,
        seed=section.seed,
        counter=counter,
    )
