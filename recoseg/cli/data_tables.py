"""How several commands tell of data: splits, problems with files, and the picture of partial labels."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recoseg.errors import UserError
from recoseg.text import printable

if TYPE_CHECKING:
    from rich.console import Console

    from recoseg.data.dataset import Dataset
    from recoseg.data.problem import Problem
    from recoseg.splits.class_index import ClassCounter
    from recoseg.splits.label_split import LabelSplit


def split_summary(split: LabelSplit) -> str:
    """One line: how many images, with which labels, chosen how."""
    chosen = [f"{name} {value}" for name, value in split.settings.items()]
    chosen += [f"seed {split.seed}"] if split.seed is not None else []
    kind = "partly labelled" if split.pixels else "labelled"
    images = f"{len(split.labelled)} {kind} images, {len(split.unlabelled)} unlabelled"
    return f"{images} ({split.builder}{': ' if chosen else ''}{', '.join(chosen)})"


def show_problems(problems: Sequence[Problem], console: Console) -> None:
    """Each kind of problem once, with the files that have it and what to do."""
    from rich.text import Text

    kinds: dict[tuple[str, str], list[str]] = {}
    for problem in problems:
        kinds.setdefault((problem.what, problem.remedy), []).append(problem.file)
    for (what, remedy), files in kinds.items():
        console.print()
        for file in files:  # names stay whole, to be copied
            console.print(Text(printable(file), style="bold"), soft_wrap=True)
        console.print(Text(_indented(printable(what), console.width), style="red"), soft_wrap=True)
        console.print(Text(_indented(printable(f"-> {remedy}"), console.width)), soft_wrap=True)
    console.print()
    console.print(f"{len(problems)} problem{'s' if len(problems) > 1 else ''} found.", style="bold red")


def _indented(text: str, width: int) -> str:
    """The text in lines that fit `width`, set in by four; long words such as paths stay whole."""
    margin = " " * 4
    return textwrap.fill(
        text,
        width,
        initial_indent=margin,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )


def labelled(dataset: Dataset, subset: str) -> list[str]:
    return [key for key in dataset.keys(subset) if dataset.has_labels(key)]


def draw_partial(
    path: Path, dataset: Dataset, split: LabelSplit | None, counter: ClassCounter, key: str | None
) -> None:
    """The figure of partial labels, of the image `key` or of one that shows most classes."""
    from recoseg.figures.partial_labels import draw_partial_labels
    from recoseg.splits.labelled_pixels import draw_points

    keys = split.labelled if split else tuple(labelled(dataset, "train"))
    if key is None:
        index = counter(dataset, labelled(dataset, "train")).of(keys)
        key = index.keys[int(index.presence.sum(1).argmax())]
    elif key not in keys:
        raise UserError(f"--image {key}: no labelled training image has this key")
    labels = dataset.labels(key).numpy()
    points = split.points.get(key) if split else None
    points = points or draw_points(labels, key=key, seed=0)
    draw_partial_labels(path, labels, points, dataset.classes, used=split.pixels if split else None)
