"""What the kinds of pictures share: opening several runs, naming them, finding an image."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from recoseg.errors import UserError
from recoseg.files import real

if TYPE_CHECKING:
    from torch import Tensor

    from recoseg.builders.trained import TrainedRun
    from recoseg.data.base import Dataset


def run_names(paths: Sequence[str]) -> list[str]:
    """The folders' names; with as many folders above as it takes to tell equal ones apart."""
    places = [real(Path(path)) for path in paths]
    for depth in range(1, 1 + max(len(place.parts) for place in places)):
        names = ["/".join(place.parts[-depth:]) for place in places]
        if len(set(names)) == len(set(places)):
            break
    return names


def open_runs(paths: Sequence[str], *, trust: bool) -> dict[str, TrainedRun]:
    """Name -> run with its weights; all of the same classes, which are drawn in the same colours."""
    from recoseg.builders.trained import trained_run
    from recoseg.train.run_folder import RunFolder

    if len({real(Path(path)) for path in paths}) < len(paths):
        raise UserError("a run is named twice")
    folders = [RunFolder.open(Path(path)) for path in paths]
    names = run_names(paths)
    runs = {name: trained_run(folder, trust=trust) for name, folder in zip(names, folders, strict=True)}
    first = runs[names[0]].dataset.classes.names
    for name, run in runs.items():
        if run.dataset.classes.names != first:
            raise UserError(f"{name!r} has other classes than {names[0]!r}: draw them one by one")
    return runs


def require_image(dataset: Dataset, key: str, *, option: str) -> None:
    from recoseg.data.base import SUBSETS

    keys = [known for subset in SUBSETS for known in dataset.keys(subset)]
    if key in keys:
        return
    near = get_close_matches(key, keys, n=1, cutoff=0.3) or keys[:1]
    raise UserError(f"{option} {key}: the dataset has no image of this key; one that it has is {near[0]!r}")


def image_and_labels(dataset: Dataset, key: str) -> tuple[Tensor, Tensor | None]:
    """(3, H, W) uint8, and (H, W) uint8 where it has any."""
    if not dataset.has_labels(key):
        return dataset.image(key), None
    sample = dataset.sample(key)
    return sample.image, sample.labels


def richest_image(dataset: Dataset, keys: Sequence[str]) -> str:
    """The image that shows most classes; the first of several."""
    from recoseg.builders.data import class_counter
    from recoseg.cli.check import progress_of
    from recoseg.cli.terminal import new_console

    with progress_of(new_console(stderr=True), doing="reading labels") as progress:
        index = class_counter(progress=progress)(dataset, list(keys))
    return index.keys[int(index.presence.sum(1).argmax())]
