"""The dataset `folder`: people's own images, some or all with labels, and which are for validation."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from recoseg.config.data_settings import FolderData
from recoseg.data.file_dataset import FileDataset
from recoseg.data.folder.class_list import LabelScheme, label_scheme
from recoseg.data.folder.listing import FolderListing, scan_folder
from recoseg.data.list_files import list_text
from recoseg.data.problem import FileError, Problem, raise_first
from recoseg.errors import UserError
from recoseg.files import write_whole
from recoseg.text import how_many

_USUAL = FolderData(root="")
_VAL_SHARE, _SEED = _USUAL.val_share, _USUAL.seed
_DRAWN = re.compile(r"# validation images drawn by recoseg: val_share (\S+), seed (-?\d+);")
_HEADER = "# validation images drawn by recoseg: val_share {val_share!r}, seed {seed}; remove to draw again"


class Folder(FileDataset):
    """`root` holds `images/` and `labels/`, paired by stem, and perhaps list files and `classes.json`.

    Images without a label are unlabelled. Without `train.txt` and `val.txt` a share of the labelled
    images, `val_share`, drawn by `seed`, becomes validation; `keep_draw` writes it to `val.txt`. With `folds`
    the labelled images are cut into so many parts, and part number `fold` validates.
    """

    name, short_name, title = "folder", "folder", "own images"

    def __init__(
        self,
        *,
        root: str | Path,
        val_share: float = _VAL_SHARE,
        seed: int = _SEED,
        folds: int | None = _USUAL.folds,
        fold: int = _USUAL.fold,
        bit_depth: int | None = _USUAL.bit_depth,
    ) -> None:
        self.root = Path(root)
        plan = plan_folder(self.root, val_share=val_share, seed=seed, folds=folds, fold=fold)
        raise_first(plan.problems, root=self.root)
        if plan.scheme is None:
            raise AssertionError("a folder without a class list has a fatal problem")
        super().__init__(
            classes=plan.scheme.classes,
            entries=plan.listing.entries,
            subsets=plan.subsets.keys,
            code=plan.scheme.code,
            bit_depth=bit_depth,
        )
        self.partial = plan.scheme.partial
        self._draw = _HEADER.format(val_share=val_share, seed=seed) if plan.subsets.drawn else None
        self.is_divided = not plan.subsets.drawn or (val_share, seed) != (_VAL_SHARE, _SEED)

    def keep_draw(self) -> None:
        """Write drawn validation images to `val.txt`, so that they stay the same when images are added.

        There is no `train.txt`: all other images are for training, also later ones. A folder that cannot be
        written to is left as it is: the next draw gives the same images.
        """
        if self._draw is not None:
            with suppress(OSError):
                write_whole(self.root / "val.txt", f"{self._draw}\n{list_text(self.keys('val'))}")


@dataclass(frozen=True)
class FolderPlan:
    """What a folder offers, with all that is wrong; `scheme` is None if the class list cannot be told."""

    listing: FolderListing
    subsets: _Subsets
    scheme: LabelScheme | None
    problems: tuple[Problem, ...]


def plan_folder(
    root: Path,
    *,
    val_share: float = _VAL_SHARE,
    seed: int = _SEED,
    folds: int | None = None,
    fold: int = 1,
) -> FolderPlan:
    """Looks at the folder without stopping at what is wrong with it, and without writing anything."""
    listing = scan_folder(root)
    if folds is not None:
        _require_room_for_folds(listing, folds=folds, fold=fold, val_share=val_share)
        subsets = _fold_subsets(listing, folds=folds, fold=fold, seed=seed)
    elif fold != 1:
        raise UserError(f"fold {fold} has no effect without folds: give data.folds too, or leave it out")
    else:
        subsets = _choose_subsets(listing, val_share=val_share, seed=seed)
    problems = [*listing.problems, *subsets.problems]
    scheme = None
    try:
        scheme = label_scheme(root, [entry.labels for entry in listing.entries.values() if entry.labels])
    except FileError as error:
        says_classes = os.path.lexists(root / "classes.json")
        if listing.labelled or says_classes:  # else "no labels" has been said already
            problems.append(error.problem)
    return FolderPlan(listing, subsets, scheme, tuple(problems))


# Training, validation and test: by lists, or by a seeded draw


@dataclass(frozen=True)
class _Subsets:
    """Keys by subset; `drawn` if validation was drawn here rather than listed by the user."""

    keys: Mapping[str, tuple[str, ...]]
    drawn: bool
    problems: tuple[Problem, ...]


def _choose_subsets(listing: FolderListing, *, val_share: float, seed: int) -> _Subsets:
    """List files decide. What they leave open:

    - neither train nor val list: a seeded share of the labelled images is validation, the rest training;
    - no train list: training is every image that is in no other list;
    - no val list: validation is every labelled image that is in no other list.
    """
    if not 0 < val_share < 1:
        raise UserError(f"val_share must lie between 0 and 1, not {val_share}")
    lists = listing.lists
    test = lists.get("test", ())
    labelled = _without(listing.labelled, test, lists.get("train", ()))
    drawn = "train" not in lists and "val" not in lists
    if drawn:
        val = draw_share(labelled, share=val_share, seed=seed)
    else:
        _reject_idle_settings(listing.root, val_share=val_share, seed=seed)
        val = lists.get("val", labelled)
    train = lists.get("train", _without(listing.entries, val, test))
    keys = {"train": train, "val": val, "test": test}
    return _Subsets(keys, drawn, tuple(_subset_problems(listing, keys, drawn=drawn)))


def draw_share(keys: Sequence[str], *, share: float, seed: int) -> tuple[str, ...]:
    """A seeded share of the keys, sorted; at least one, and never all of them.

    The order of the draw is that of a cryptographic hash of seed and key, so it is the same on every
    machine, for every version of Python, and a new file changes little of it.
    """
    num_drawn = min(max(round(share * len(keys)), 1), len(keys) - 1)
    return tuple(sorted(_drawn_order(keys, seed)[: max(num_drawn, 0)]))


def _drawn_order(keys: Sequence[str], seed: int) -> list[str]:
    return sorted(keys, key=lambda key: hashlib.sha256(f"{seed}/{key}".encode()).digest())


def _fold_subsets(listing: FolderListing, *, folds: int, fold: int, seed: int) -> _Subsets:
    """Every labelled image that is not for tests is in one fold, and all are of nearly one size."""
    test = listing.lists.get("test", ())
    labelled = _without(listing.labelled, test)
    val = tuple(sorted(_drawn_order(labelled, seed)[fold - 1 :: folds]))
    keys = {"train": _without(listing.entries, val, test), "val": val, "test": test}
    return _Subsets(keys, False, tuple(_subset_problems(listing, keys, drawn=False)))


def _require_room_for_folds(listing: FolderListing, *, folds: int, fold: int, val_share: float) -> None:
    root, lists = listing.root, listing.lists
    if val_share != _VAL_SHARE:
        raise UserError(f"val_share {val_share} has no effect beside folds: leave one of them out")
    if not 1 <= fold <= folds:
        raise UserError(f"fold must be 1 to {folds}, the number of folds, not {fold}")
    for name in ("train", "val"):
        if name in lists and not (name == "val" and _draw_of(root)):  # our own draw is nobody's wish
            raise UserError(
                f"{root / name}.txt names the images already, so they cannot be cut into {folds} folds: "
                "remove the list, or train without folds"
            )
    number = len(_without(listing.labelled, lists.get("test", ())))
    if number < folds:
        raise UserError(
            f"{root} has {how_many(number, 'labelled image')} for {folds} folds: each needs one; label more, "
            "or take fewer folds"
        )


def _draw_of(root: Path) -> re.Match[str] | None:
    """What the first line of val.txt says of the draw, where it was drawn here."""
    path = root / "val.txt"
    first_line = path.read_text(encoding="utf-8-sig").split("\n", 1)[0] if path.exists() else ""
    return _DRAWN.match(first_line)


def _reject_idle_settings(root: Path, *, val_share: float, seed: int) -> None:
    """With lists there is no draw: settings that ask for another one than was made are a mistake."""
    drawn = _draw_of(root)
    made = (float(drawn[1]), int(drawn[2])) if drawn else (_VAL_SHARE, _SEED)
    if (val_share, seed) != made:
        raise UserError(
            f"{root} has list files already, so val_share {val_share} and seed {seed} have no effect; "
            f"leave them at {made[0]} and {made[1]}, or remove the list files to draw again"
        )


def _subset_problems(
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
        problems.append(Problem(str(listing.root), what, remedy, fatal=False))
    for key in keys["val"]:
        entry = listing.entries[key]
        if entry.labels is None:
            what = "is in val.txt but has no label to compare with"
            problems.append(Problem(str(entry.image), what, "add its label, or take it off the list"))
    return problems + _overlap_problems(listing, keys)


def _overlap_problems(listing: FolderListing, keys: Mapping[str, tuple[str, ...]]) -> list[Problem]:
    """Images that are in two lists: allowed, but their scores say little."""
    problems = []
    for one, other in (("train", "val"), ("train", "test"), ("val", "test")):
        what = f"is both in {one}.txt and in {other}.txt, so scores are too good to be true"
        for key in sorted(set(keys[one]) & set(keys[other])):
            image = str(listing.entries[key].image)
            problems.append(Problem(image, what, "take it off one of the lists", fatal=False))
    return problems


def _without(keys: Sequence[str] | Mapping[str, object], *others: Sequence[str]) -> tuple[str, ...]:
    """The keys that are in none of the others, in their order."""
    taken = {key for other in others for key in other}
    return tuple(key for key in keys if key not in taken)
