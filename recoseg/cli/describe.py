"""Show the classes of a dataset, their pixels and images, and what a split leaves visible.

DATA is a folder dataset, or with --dataset what its owner publishes. With --picture also a figure: of a
split, its images under the labels that it leaves visible; of all data, one image with 1 pixel, 1 %, 5 % and
25 % of each class labelled.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from recoseg.cli.arguments import (
    USAGE,
    add_dataset,
    add_workers,
    data_settings,
    require_picture,
    require_workers,
)
from recoseg.cli.data_tables import draw_partial, labelled, split_summary
from recoseg.cli.terminal import progress_of
from recoseg.errors import UserError
from recoseg.text import how_many, percent_of_pixels, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from recoseg.data.dataset import Dataset
    from recoseg.splits.class_index import ClassCounter, ClassIndex
    from recoseg.splits.label_split import LabelSplit

TAKES_SETTINGS = True
SAVES_MEMORY = "fewer processes need less: --workers 1"
_OPTIONS = ("--dataset", "--split", "--picture", "--image", "--force", "--workers")


EXAMPLES = (
    "recoseg describe my_images",
    "recoseg describe my_images --split twenty.json --picture labels.png",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = f"recoseg describe {USAGE} [options]"
    add_dataset(parser)
    parser.add_argument("--split", metavar="FILE", help="a split file: show what it leaves visible")
    parser.add_argument("--picture", metavar="FILE", help="a .png, .svg or .pdf of labels to write")
    parser.add_argument("--image", metavar="KEY", help="the one image to show")
    parser.add_argument("--force", action="store_true", help="write over an existing picture")
    add_workers(parser)


def run(arguments: argparse.Namespace) -> int:
    from recoseg import config as configs
    from recoseg.cli.terminal import new_console
    from recoseg.data.build import build_dataset
    from recoseg.splits.class_index import class_counter
    from recoseg.splits.label_split import LabelSplit

    settings = data_settings(arguments, _OPTIONS)
    require_workers(arguments.workers)
    require_picture(arguments, "image")
    dataset = build_dataset(configs.load(None, settings).data)
    split = LabelSplit.load(Path(arguments.split)) if arguments.split else None
    if split:
        split.check_fits(dataset)
    console = new_console()
    with progress_of(new_console(stderr=True), doing="reading labels") as progress:
        counter = class_counter(num_workers=arguments.workers, progress=progress)
        table = _split_table(dataset, split, counter) if split else _dataset_table(dataset, counter)
        if arguments.picture and split:
            _draw_split(Path(arguments.picture), dataset, split, arguments.image)
        elif arguments.picture:
            draw_partial(Path(arguments.picture), dataset, None, counter, arguments.image)
    show_subsets(dataset, console)
    if split:
        console.print(printable(f"split: {split_summary(split)}"))
    console.print(table)
    if arguments.picture:
        console.print(printable(f"picture: {arguments.picture}"), soft_wrap=True)
    return 0


def _draw_split(path: Path, dataset: Dataset, split: LabelSplit, key: str | None) -> None:
    """The images that are labelled, or one of them, under the labels that may be seen."""
    from recoseg.figures.contact_sheet import MOST_IMAGES, draw_contact_sheet, labelled_image
    from recoseg.report.run_view import spread
    from recoseg.splits.label_split import VisibleLabels

    if key is not None and key not in split.labelled:
        raise UserError(f"--image {key}: no labelled training image has this key")
    keys = [key] if key is not None else spread(split.labelled, MOST_IMAGES)
    visible = VisibleLabels(dataset, split)
    images = [
        labelled_image(
            key,
            visible.image(key).permute(1, 2, 0).numpy(),
            visible.labels(key).numpy(),
            dataset.classes,
            partial=split.pixels is not None,
        )
        for key in keys
    ]
    title = f"{len(keys)} of {how_many(len(split.labelled), 'labelled image')}, as the split shows them"
    draw_contact_sheet(path, images, dataset.classes, title=title, about=split_summary(split))


def show_subsets(dataset: Dataset, console: Console) -> None:
    from recoseg.data.dataset import SUBSETS

    console.print(f"{dataset.name}: {len(dataset.classes)} classes")
    for subset in SUBSETS:
        if dataset.keys(subset):
            num_labelled = len(labelled(dataset, subset))
            console.print(f"{subset}: {len(dataset.keys(subset))} images, {num_labelled} with labels")


def _dataset_table(dataset: Dataset, counter: ClassCounter) -> Table:
    """A row a class: its share of the training pixels, and its images in each subset."""
    from recoseg.data.dataset import SUBSETS

    keys = {subset: labelled(dataset, subset) for subset in SUBSETS if dataset.keys(subset)}
    index = counter(dataset, list(dict.fromkeys(key for some in keys.values() for key in some)))
    columns = {"train pixels": shares(index.of(keys.get("train", ())))}
    for subset, some in keys.items():
        columns[f"{subset} images"] = numbers((index.of(some).pixels > 0).sum(0).tolist())
    return class_table(dataset, columns)


def _split_table(dataset: Dataset, split: LabelSplit, counter: ClassCounter) -> Table:
    """A row a class: its pixels and images among all training labels, and among those that may be seen."""
    from recoseg.splits.label_split import VisibleLabels

    index = counter(dataset, labelled(dataset, "train"))
    visible = index.of(split.labelled)
    if split.pixels:
        visible = counter(VisibleLabels(dataset, split), split.labelled)
    seen, there = visible.counts.sum(0), index.counts.sum(0).clip(min=1)  # void is nothing to be seen
    return class_table(
        dataset,
        {
            "pixels": shares(index),
            "images": numbers((index.pixels > 0).sum(0).tolist()),
            "seen\npixels": [*(percent_of_pixels(float(share)) for share in seen / max(seen.sum(), 1)), ""],
            "of its\npixels": [*(percent_of_pixels(float(share)) for share in seen / there), ""],
            "seen\nimages": [*numbers(visible.presence.sum(0).tolist()), ""],
        },
    )


def shares(index: ClassIndex) -> list[str]:
    """The share of each class, and of void, among all pixels of the index."""
    pixels = index.pixels.sum(0)
    return [percent_of_pixels(float(share)) for share in pixels / max(pixels.sum(), 1)]


def numbers(counts: list[int]) -> list[str]:
    return [str(count) for count in counts]


def class_table(dataset: Dataset, columns: dict[str, list[str]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table("", "class", header_style="bold")
    for name in columns:
        table.add_column(name, justify="right")
    for number, name in enumerate([*dataset.classes.names, "(void)"]):
        index = str(number) if number < len(dataset.classes) else ""
        cells = [values[number] for values in columns.values()]
        table.add_row(index, Text(printable(name), overflow="fold"), *cells)
    return table
