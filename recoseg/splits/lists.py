"""Splits that others publish: a list of images to label, and perhaps one of images without labels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from recoseg.data.base import Dataset
from recoseg.data.list_files import numbered_lines, spelled_key
from recoseg.errors import UserError
from recoseg.splits.class_index import ClassCounter
from recoseg.splits.few_images import split_of
from recoseg.splits.split_file import LabelSplit

ENDINGS = ("_leftImg8bit", "_gtFine_labelIds", "_gtFine_labelTrainIds")
"""What Cityscapes adds to the name of a picture; lists keep it, keys may not."""

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".bmp")
NUM_SHOWN = 5  # names in an error


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
        raise UserError(f"{labelled_list}: {some(bare)} of its images have no labels")
    both = sorted(set(labelled) & set(unlabelled or ()))
    if both:
        raise UserError(f"{some(both)} images are in both {labelled_list} and {unlabelled_list}")
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
            self.by_name[parts_of(key)[-1]].append(key)

    def find_all(self, path: Path) -> list[str]:
        """The keys of a list in its order, each once; an error names the lines that mean none."""
        lines = read_lines(path)
        found = {line: self.find(line) for line in lines}
        unknown = [line for line, key in found.items() if key is None]
        if unknown:
            raise UserError(f"{path}: {some(unknown)} of {len(lines)} lines name no training image")
        return list(dict.fromkeys(key for key in found.values() if key is not None))

    def find(self, line: str) -> str | None:
        """The one key with the same name, or the one among several that agrees with most of the path."""
        for text in (spelled_key(line), line, line.strip(), line.split()[0]):
            if text is None:
                continue
            if text in self.keys:
                return text
            parts = parts_of(text)
            candidates = self.by_name.get(parts[-1], [])
            scores = {key: agreement(parts_of(key), parts) for key in candidates}
            best = [key for key in candidates if scores[key] == max(scores.values())]
            if len(best) == 1:
                return best[0]
        return None


def parts_of(text: str) -> tuple[str, ...]:
    """The folders and the name of a path or key, without suffix and endings."""
    path = PurePosixPath(text.replace("\\", "/"))
    name = path.stem if path.suffix.lower() in SUFFIXES else path.name
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return (*path.parts[:-1], name) if path.parts else ("",)


def agreement(one: Sequence[str], other: Sequence[str]) -> int:
    """How many parts agree, counted from the end."""
    pairs = zip(reversed(one), reversed(other), strict=False)
    return next((number for number, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def read_lines(path: Path) -> list[str]:
    lines = [line for _, line in numbered_lines(path)]
    if not lines:
        raise UserError(f"{path}: the list is empty; write one key a line")
    return lines


def some(names: Sequence[str]) -> str:
    """The number of names, and a few of them."""
    more = ", ..." if len(names) > NUM_SHOWN else ""
    return f"{len(names)} ({', '.join(names[:NUM_SHOWN])}{more})"
