"""Splits that others publish: partitions of tables by name, and lists of images to label."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from recoseg.data import DATASETS
from recoseg.data.cityscapes import NAME_ENDINGS
from recoseg.data.dataset import Dataset, Partition
from recoseg.data.list_files import numbered_lines, spelled_key
from recoseg.errors import UserError
from recoseg.splits.class_index import ClassCounter
from recoseg.splits.label_split import LabelSplit
from recoseg.splits.labelled_images import few_images, random_images, split_of
from recoseg.text import lookup

# Partitions


def _partitions() -> dict[str, tuple[type[Dataset], Partition]]:
    """Those of the paper's own draw first."""
    found = [(of, partition) for of in DATASETS.values() for partition in of.partitions]
    found.sort(key=lambda pair: pair[1].draw != "paper")
    return {f"{of.short_name}-{partition.labels}": (of, partition) for of, partition in found}


PARTITIONS = _partitions()


def partition_images(
    dataset: Dataset,
    name: str,
    *,
    labelled_list: Path | None = None,
    unlabelled_list: Path | None = None,
    seed: int,
    counter: ClassCounter | None = None,
) -> LabelSplit:
    """A partition of `PARTITIONS`; those that are not drawn need the list that was published for them."""
    of, _ = lookup(PARTITIONS, name, what="partition")
    _require_fits(name, of, dataset)
    split = _draw_or_list(dataset, name, labelled_list, unlabelled_list, seed, counter)
    return replace(split, settings={"partition": name, **split.settings})


def _draw_or_list(
    dataset: Dataset,
    name: str,
    labelled_list: Path | None,
    unlabelled_list: Path | None,
    seed: int,
    counter: ClassCounter | None,
) -> LabelSplit:
    of, partition = PARTITIONS[name]
    if partition.draw == "list":
        if labelled_list is None:
            raise UserError(f"partition {name!r} is a list that others published: give it as labelled_list")
        split = listed_images(
            dataset, labelled_list=labelled_list, unlabelled_list=unlabelled_list, counter=counter
        )
        if len(split.labelled) != partition.labels:
            raise UserError(
                f"partition {name!r} has {partition.labels} labelled images, {labelled_list} names "
                f"{len(split.labelled)}"
            )
        return split
    if labelled_list is not None:
        raise UserError(f"labelled_list has no effect beside partition {name}, which is drawn by seed")
    if partition.draw == "random":
        return random_images(dataset, labels=partition.labels, seed=seed, counter=counter)
    return few_images(
        dataset,
        labels=partition.labels,
        images_per_class=partition.images_per_class,
        min_classes=of.min_classes,
        seed=seed,
        counter=counter,
    )


def _require_fits(name: str, of: type[Dataset], dataset: Dataset) -> None:
    """An error unless it is the dataset, or a folder with as many classes, such as a prepared copy."""
    if dataset.name not in (of.name, "folder") or len(dataset.classes) != len(of.classes):
        raise UserError(
            f"partition {name!r} is of {of.name} with {len(of.classes)} classes; "
            f"this is {dataset.name!r} with {len(dataset.classes)}"
        )


# Lists

_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".bmp")
_NUM_SHOWN = 5  # names in an error


def listed_images(
    dataset: Dataset,
    *,
    labelled_list: Path,
    unlabelled_list: Path | None = None,
    counter: ClassCounter | None = None,
) -> LabelSplit:
    """The images of one list are labelled; those of the other, or all other training images, are not."""
    keys = KeyFinder(dataset.keys("train"))
    labelled = keys.find_all(labelled_list)
    unlabelled = keys.find_all(unlabelled_list) if unlabelled_list else None
    bare = [key for key in labelled if not dataset.has_labels(key)]
    if bare:
        raise UserError(f"{labelled_list}: {_some(bare)} of its images have no labels")
    both = sorted(set(labelled) & set(unlabelled or ()))
    if both:
        raise UserError(f"{_some(both)} images are in both {labelled_list} and {unlabelled_list}")
    settings = {"labelled_list": labelled_list.name}
    if unlabelled_list:
        settings["unlabelled_list"] = unlabelled_list.name
    return split_of(
        dataset,
        labelled,
        unlabelled=unlabelled,
        builder="listed_images",
        settings=settings,
        index=(counter or ClassCounter())(dataset, labelled),
    )


class KeyFinder:
    """Finds the key that a line of a list means: a key, a path to an image, or "image label" paths."""

    def __init__(self, keys: Sequence[str]) -> None:
        self.keys = set(keys)
        self.by_name: dict[str, list[str]] = defaultdict(list)
        for key in keys:
            self.by_name[_parts_of(key)[-1]].append(key)

    def find_all(self, path: Path) -> list[str]:
        """The keys of a list in its order, each once; an error names the lines that mean none."""
        lines = _read_lines(path)
        found = {line: self.find(line) for line in lines}
        unknown = [line for line, key in found.items() if key is None]
        if unknown:
            raise UserError(f"{path}: {_some(unknown)} of {len(lines)} lines name no training image")
        return list(dict.fromkeys(key for key in found.values() if key is not None))

    def find(self, line: str) -> str | None:
        """The one key with the same name, or the one among several that agrees with most of the path."""
        for text in (spelled_key(line), line, line.strip(), line.split()[0]):
            if text is None:
                continue
            if text in self.keys:
                return text
            parts = _parts_of(text)
            candidates = self.by_name.get(parts[-1], [])
            scores = {key: _agreement(_parts_of(key), parts) for key in candidates}
            best = [key for key in candidates if scores[key] == max(scores.values())]
            if len(best) == 1:
                return best[0]
        return None


def _parts_of(text: str) -> tuple[str, ...]:
    """The folders and the name of a path or key, without suffix and endings."""
    path = PurePosixPath(text.replace("\\", "/"))
    name = path.stem if path.suffix.lower() in _SUFFIXES else path.name
    for ending in NAME_ENDINGS:
        name = name.removesuffix(ending)
    return (*path.parts[:-1], name) if path.parts else ("",)


def _agreement(one: Sequence[str], other: Sequence[str]) -> int:
    """How many parts agree, counted from the end."""
    pairs = zip(reversed(one), reversed(other), strict=False)
    return next((number for number, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _read_lines(path: Path) -> list[str]:
    lines = [line for _, line in numbered_lines(path)]
    if not lines:
        raise UserError(f"{path}: the list is empty; write one key a line")
    return lines


def _some(names: Sequence[str]) -> str:
    """The number of names, and a few of them."""
    more = ", ..." if len(names) > _NUM_SHOWN else ""
    return f"{len(names)} ({', '.join(names[:_NUM_SHOWN])}{more})"
