"""Which images of a folder dataset are for training, validation and test: by lists, or by a seeded draw."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from recoseg.data.folder.listing import FolderListing
from recoseg.data.list_files import list_text
from recoseg.data.problem import Problem
from recoseg.errors import UserError
from recoseg.files import write_whole

VAL_SHARE = 0.2
SEED = 0
DRAWN = re.compile(r"# validation images drawn by recoseg: val_share (\S+), seed (-?\d+);")
HEADER = "# validation images drawn by recoseg: val_share {val_share!r}, seed {seed}; remove to draw again"


@dataclass(frozen=True)
class Subsets:
    """Keys by subset; `drawn` if validation was drawn here rather than listed by the user."""

    keys: Mapping[str, tuple[str, ...]]
    drawn: bool
    problems: tuple[Problem, ...]


def choose_subsets(listing: FolderListing, *, val_share: float, seed: int) -> Subsets:
    """List files decide. What they leave open:

    - neither train nor val list: a seeded share of the labelled images is validation, the rest training;
    - no train list: training is every image that is in no other list;
    - no val list: validation is every labelled image that is in no other list.
    """
    if not 0 < val_share < 1:
        raise UserError(f"val_share must lie between 0 and 1, not {val_share}")
    lists = listing.lists
    test = lists.get("test", ())
    labelled = without(listing.labelled, test, lists.get("train", ()))
    drawn = "train" not in lists and "val" not in lists
    if drawn:
        val = draw(labelled, share=val_share, seed=seed)
    else:
        reject_idle_settings(listing.root, val_share=val_share, seed=seed)
        val = lists.get("val", labelled)
    train = lists.get("train", without(listing.entries, val, test))
    keys = {"train": train, "val": val, "test": test}
    return Subsets(keys, drawn, tuple(subset_problems(listing, keys, drawn=drawn)))


def draw(keys: Sequence[str], *, share: float, seed: int) -> tuple[str, ...]:
    """A seeded share of the keys, sorted; at least one, and never all of them.

    The order of the draw is that of a cryptographic hash of seed and key, so it is the same on every
    machine, for every version of Python, and a new file changes little of it.
    """
    num_drawn = min(max(round(share * len(keys)), 1), len(keys) - 1)
    order = sorted(keys, key=lambda key: hashlib.sha256(f"{seed}/{key}".encode()).digest())
    return tuple(sorted(order[: max(num_drawn, 0)]))


def reject_idle_settings(root: Path, *, val_share: float, seed: int) -> None:
    """With lists there is no draw: settings that ask for another one than was made are a mistake."""
    path = root / "val.txt"
    first_line = path.read_text(encoding="utf-8-sig").split("\n", 1)[0] if path.exists() else ""
    drawn = DRAWN.match(first_line)
    made = (float(drawn[1]), int(drawn[2])) if drawn else (VAL_SHARE, SEED)
    if (val_share, seed) != made:
        raise UserError(
            f"{root} has list files already, so val_share {val_share} and seed {seed} have no effect; "
            f"leave them at {made[0]} and {made[1]}, or remove the list files to draw again"
        )


def subset_problems(
    listing: FolderListing, keys: Mapping[str, tuple[str, ...]], *, drawn: bool
) -> list[Problem]:
    """What keeps these subsets from being of use."""
    if not listing.labelled:
        return []  # said already by the listing, and all below would follow from it
    problems = []
    if not any(listing.entries[key].labels for key in keys["train"]):
        can_evaluate = any(listing.entries[key].labels for key in keys["val"])  # which is enough for some
        what, remedy = "no training image has a label", "to train on it, label some, or list others"
        problems.append(Problem(str(listing.root), what, remedy, fatal=not can_evaluate))
    if not keys["val"]:
        what = (
            "only one labelled image, but training and validation need one each"
            if drawn
            else "no validation image"
        )
        remedy = "label another image, or name images in both train.txt and val.txt yourself"
        problems.append(Problem(str(listing.root), what, remedy))
    for key in keys["val"]:
        entry = listing.entries[key]
        if entry.labels is None:
            what = "is in val.txt but has no label to compare with"
            problems.append(Problem(str(entry.image), what, "add its label, or take it off the list"))
    return problems + overlap_problems(listing, keys)


def overlap_problems(listing: FolderListing, keys: Mapping[str, tuple[str, ...]]) -> list[Problem]:
    """Images that are in two lists: allowed, but their scores say little."""
    problems = []
    for one, other in (("train", "val"), ("train", "test"), ("val", "test")):
        what = f"is both in {one}.txt and in {other}.txt, so scores are too good to be true"
        for key in sorted(set(keys[one]) & set(keys[other])):
            image = str(listing.entries[key].image)
            problems.append(Problem(image, what, "take it off one of the lists", fatal=False))
    return problems


def write_drawn(root: Path, keys: Sequence[str], *, val_share: float, seed: int) -> None:
    """Writes `val.txt`. A folder that cannot be written to is left alone: the next draw is the same anyway.

    There is no `train.txt`: all other images are for training, those added later too.
    """
    header = HEADER.format(val_share=val_share, seed=seed)
    with suppress(OSError):
        write_whole(root / "val.txt", f"{header}\n{list_text(keys)}")


def without(keys: Sequence[str] | Mapping[str, object], *others: Sequence[str]) -> tuple[str, ...]:
    """The keys that are in none of the others, in their order."""
    taken = {key for other in others for key in other}
    return tuple(key for key in keys if key not in taken)
