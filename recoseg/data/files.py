"""The common base of datasets that read files: where the files of each key are, and how labels are coded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from recoseg.data.base import SUBSETS, Dataset
from recoseg.data.image_files import not_text, read_image
from recoseg.data.label_codes import LabelCode
from recoseg.data.problem import FileError, Problem
from recoseg.errors import UserError
from recoseg.types import IGNORE, ClassInfo, Sample
from recoseg.words import is_text


@dataclass(frozen=True)
class Entry:
    """The files of one key; an image without a label file is unlabelled."""

    image: Path
    labels: Path | None = None


class FileDataset(Dataset):
    """Images and labels in files. An adapter finds the files and hands them over:

    `entries` says where the files of each key are, `subsets` which keys each subset has (a missing
    subset is empty), and `code` reads a label file into class indices.
    """

    def __init__(
        self,
        *,
        classes: ClassInfo,
        entries: Mapping[str, Entry],
        subsets: Mapping[str, Sequence[str]],
        code: LabelCode,
    ) -> None:
        for key, entry in entries.items():
            if not is_text(key):
                raise not_text(entry.image)
        self.classes = classes
        self.entries = dict(entries)
        self.code = code
        self._subsets = {subset: tuple(subsets.get(subset, ())) for subset in SUBSETS}

    def keys(self, subset: str) -> Sequence[str]:
        if subset not in self._subsets:
            raise UserError(f"unknown subset {subset!r}; known: {', '.join(SUBSETS)}")
        return self._subsets[subset]

    def has_labels(self, key: str) -> bool:
        return self.entry(key).labels is not None

    def image(self, key: str) -> Tensor:
        return read_image(self.entry(key).image)

    def labels(self, key: str) -> Tensor:
        path = self.entry(key).labels
        if path is None:
            raise UserError(f"{self.entry(key).image} has no labels; it can only be used as unlabelled")
        return torch.from_numpy(self.code.decode(path))

    def sample(self, key: str) -> Sample:
        """The image and its labels, all IGNORE if there is no label file."""
        image = self.image(key)
        if not self.has_labels(key):
            return Sample(image, torch.full(image.shape[1:], IGNORE, dtype=torch.uint8), key)
        labels = self.labels(key)
        problem = size_problem(self.entry(key), tuple(image.shape[1:]), tuple(labels.shape))
        if problem:
            raise FileError(problem.file, problem.what, problem.remedy)
        return Sample(image, labels, key)

    def entry(self, key: str) -> Entry:
        """Where the files of `key` are."""
        try:
            return self.entries[key]
        except KeyError:
            raise UserError(f"the dataset {self.name!r} has no image {key!r}") from None


def size_problem(entry: Entry, image: tuple[int, ...], labels: tuple[int, ...]) -> Problem | None:
    """What to say when the (H, W) of an image and of its labels differ."""
    if image == labels:
        return None
    what = f"{labels[1]}x{labels[0]} pixels, but its image has {image[1]}x{image[0]}"
    if image == labels[::-1]:
        return Problem(
            str(entry.labels), what, "turn the label upright, as the image's EXIF orientation shows it"
        )
    return Problem(str(entry.labels), what, "export the label again at the size of the image")
