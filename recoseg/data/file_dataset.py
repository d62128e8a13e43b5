"""The base of datasets that read files, and finding those of published ones in their owner's layout."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from recoseg.colours import Colour
from recoseg.data.dataset import SUBSETS, Dataset
from recoseg.data.image_files import FULL_DEPTH, read_image
from recoseg.data.label_codes import LabelCode
from recoseg.data.list_files import numbered_lines
from recoseg.data.problem import FileError, Problem
from recoseg.errors import UserError
from recoseg.types import IGNORE, ClassInfo, Sample

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Entry:
    """The files of one key; an image without a label file is unlabelled."""

    image: Path
    labels: Path | None = None


class FileDataset(Dataset):
    """Images and labels in files. An adapter finds the files and hands them over:

    `entries` says where the files of each key are, `subsets` which keys each subset has (a missing
    subset is empty), `code` reads a label file into class indices, and `bit_depth` is the number of bits that
    grey images of more than 8 bits use.
    """

    def __init__(
        self,
        *,
        classes: ClassInfo,
        entries: Mapping[str, Entry],
        subsets: Mapping[str, Sequence[str]],
        code: LabelCode,
        bit_depth: int | None = None,
    ) -> None:
        self.classes = classes
        self.entries = dict(entries)
        self.code = code
        self.bit_depth = bit_depth or FULL_DEPTH
        self._subsets = {subset: tuple(subsets.get(subset, ())) for subset in SUBSETS}

    def keys(self, subset: str) -> Sequence[str]:
        if subset not in self._subsets:
            raise UserError(f"unknown subset {subset!r}; known: {', '.join(SUBSETS)}")
        return self._subsets[subset]

    def has_labels(self, key: str) -> bool:
        return self.entry(key).labels is not None

    def image(self, key: str) -> Tensor:
        return read_image(self.entry(key).image, bit_depth=self.bit_depth)

    def labels(self, key: str) -> Tensor:
        import torch

        path = self.entry(key).labels
        if path is None:
            raise UserError(f"{self.entry(key).image} has no labels; it can only be used as unlabelled")
        return torch.from_numpy(self.code.decode(path))

    def sample(self, key: str) -> Sample:
        """The image and its labels, all IGNORE if there is no label file."""

        image = self.image(key)
        if not self.has_labels(key):
            return Sample(image, image.new_full(image.shape[1:], IGNORE), key)
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


# Published datasets


@dataclass(frozen=True)
class Owner:
    """Who publishes a dataset: `title` is its name, `get` says which files to get and from where."""

    title: str
    get: str

    @property
    def restore(self) -> str:
        """What to do about a label that holds what no label of this dataset does."""
        return f"no label of {self.title} holds that: restore the file from its archive"

    def folder(self, root: Path, *places: str) -> Path:
        """The first of `places` below `root` that is a folder."""
        found = [root / place for place in places if (root / place).is_dir()]
        if not found:
            raise self.missing(root, " or ".join(f"{place}/" for place in places))
        return found[0]

    def file(self, root: Path, *places: str) -> Path:
        """The first of `places` below `root` that is a file."""
        found = [root / place for place in places if (root / place).is_file()]
        if not found:
            raise self.missing(root, " or ".join(places))
        return found[0]

    def missing(self, root: Path, what: str) -> UserError:
        """The error for `what`, which was looked for in `root`."""
        trouble = f"has no {what}" if root.is_dir() else "is no folder"
        remedy = f"get {self.get}; docs/datasets.md shows where the files go"
        return UserError(f"{self.title}: {root} {trouble}; {remedy}")

    def present(self, keys: Sequence[str], images: Collection[str], *, named_by: Path) -> list[str]:
        """The keys, if each is one of `images`; `named_by` is the list or folder that names them."""
        gone = [key for key in keys if key not in images]
        if gone:
            what = f"{len(gone)} of the {len(keys)} images that it names are missing, such as {gone[0]}"
            raise FileError(named_by, what, f"restore them, or get {self.get} again")
        return list(keys)


def read_keys(path: Path) -> list[str]:
    """The keys of a list file in its order, each once: a key a line, or "image label" pairs of paths."""
    names = (line.split()[0].replace("\\", "/") for _, line in numbered_lines(path))
    return list(dict.fromkeys(PurePosixPath(name).stem for name in names))


def by_stem(folder: Path, suffix: str) -> dict[str, Path]:
    """The files of a folder with that suffix, by stem and sorted; {} if there is no such folder."""
    if not folder.is_dir():
        return {}
    found = (path for path in folder.iterdir() if path.suffix.lower() == suffix)
    return {path.stem: path for path in sorted(found) if not path.name.startswith(".")}


def classes_of(colours: Mapping[str, Colour]) -> ClassInfo:
    """The classes of a table of names and colours, in its order."""
    return ClassInfo(tuple(colours), tuple(colours.values()))
