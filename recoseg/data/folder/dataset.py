"""The dataset `folder`: people's own images, some or all of them with labels."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from recoseg.data.files import FileDataset
from recoseg.data.folder.classes import LabelScheme, label_scheme
from recoseg.data.folder.listing import FolderListing, scan_folder
from recoseg.data.folder.subsets import SEED, VAL_SHARE, Subsets, choose_subsets, write_drawn
from recoseg.data.problem import FileError, Problem, raise_first


@dataclass(frozen=True)
class FolderPlan:
    """What a folder offers, with all that is wrong; `scheme` is None if the class list cannot be told."""

    listing: FolderListing
    subsets: Subsets
    scheme: LabelScheme | None
    problems: tuple[Problem, ...]


class Folder(FileDataset):
    """`root` holds `images/` and `labels/`, paired by stem, and perhaps list files and `classes.json`.

    Images without a label are unlabelled. Without `train.txt` and `val.txt` a share of the labelled
    images, `val_share`, drawn by `seed`, becomes validation and is written down in `val.txt`.
    """

    name = "folder"

    def __init__(self, *, root: str | Path, val_share: float = VAL_SHARE, seed: int = SEED) -> None:
        self.root = Path(root)
        plan = plan_folder(self.root, val_share=val_share, seed=seed)
        raise_first(plan.problems, root=self.root)
        if plan.scheme is None:
            raise AssertionError("a folder without a class list has a fatal problem")
        super().__init__(
            classes=plan.scheme.classes,
            entries=plan.listing.entries,
            subsets=plan.subsets.keys,
            code=plan.scheme.code,
        )
        if plan.subsets.drawn:
            write_drawn(self.root, self.keys("val"), val_share=val_share, seed=seed)


def plan_folder(root: Path, *, val_share: float = VAL_SHARE, seed: int = SEED) -> FolderPlan:
    """Looks at the folder without stopping at what is wrong with it, and without writing anything."""
    listing = scan_folder(root)
    subsets = choose_subsets(listing, val_share=val_share, seed=seed)
    problems = [*listing.problems, *subsets.problems]
    scheme = None
    try:
        scheme = label_scheme(root, [entry.labels for entry in listing.entries.values() if entry.labels])
    except FileError as error:
        if listing.labelled or os.path.lexists(
            root / "classes.json"
        ):  # else "no labels" has been said already
            problems.append(error.problem)
    return FolderPlan(listing, subsets, scheme, tuple(problems))
