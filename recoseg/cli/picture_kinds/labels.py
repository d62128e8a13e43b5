"""Show an image with partial labels: 1 pixel, 1 %, 5 %, 25 % of each class.

One labelled training image of the run's split, with that much of each class labelled. Needs no weights.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from recoseg.errors import UserError

BESIDE: tuple[str, ...] = ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--image", metavar="KEY", help="the image (default: one with most classes)")


def draw(arguments: argparse.Namespace, out: Path) -> None:
    from recoseg.builders.data import build_dataset, class_counter
    from recoseg.cli.check import progress_of
    from recoseg.cli.describe import draw as draw_labels
    from recoseg.cli.terminal import new_console
    from recoseg.config.load import load
    from recoseg.splits.split_file import LabelSplit
    from recoseg.train.run_folder import RunFolder

    if len(arguments.runs) > 1:
        raise UserError(f"labels are those of one run, and {len(arguments.runs)} are given")
    folder = RunFolder.open(Path(arguments.runs[0]))
    dataset, split = build_dataset(load(folder.config).data), LabelSplit.load(folder.split)
    split.check_fits(dataset)
    with progress_of(new_console(stderr=True), doing="reading labels") as progress:
        draw_labels(out, dataset, split, class_counter(progress=progress), arguments.image)
