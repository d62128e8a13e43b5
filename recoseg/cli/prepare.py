"""Bring a dataset to another size, once, as an ordinary folder dataset.

Without a size, Cityscapes gets the paper's 512x1024 and SUN RGB-D its 384x512; others keep theirs. Images
are averaged by area, labels take the nearest pixel. The same command goes on where an earlier one
stopped. The exit code is 1 when a file had to be left out.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from recoseg.cli.arguments import add_workers, require_workers
from recoseg.errors import UserError
from recoseg.text import printable

TAKES_SETTINGS = True
SAVES_MEMORY = "fewer processes need less: --workers 1; the same command goes on"
EXAMPLES = ("recoseg prepare cityscapes downloads/cityscapes data/small --scale 0.25",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "recoseg prepare DATASET SRC DST [--scale S] [options]"
    add = parser.add_argument
    add("dataset", metavar="DATASET", help="such as cityscapes; folder for your own images")
    add("source", metavar="SRC", help="its folder; prepare only reads it")
    add("destination", metavar="DST", help="the folder to make")
    add("--height", type=int, metavar="H", help="height of all images in pixels")
    add("--width", type=int, metavar="W", help="width of all images in pixels")
    add("--scale", type=float, metavar="S", help="factor for each; 1 keeps the sizes")
    add("--filter", default="area", metavar="NAME", help="for images: area (default) or antialias")
    add("--format", default="png", metavar="NAME", help="of images: png (default) or jpg")
    add_workers(parser, "processes at work")
    parser.epilog = "The settings of a dataset, such as --data.split: recoseg train --help data."


def run(arguments: argparse.Namespace) -> int:
    """Prepare the dataset; return 1 if an image had to be left out."""
    from recoseg.cli.arguments import open_dataset
    from recoseg.cli.data_tables import show_problems
    from recoseg.cli.terminal import new_console, progress_of
    from recoseg.data import DATASETS
    from recoseg.data.bit_depth import depth_in_words
    from recoseg.data.preparation import prepare
    from recoseg.data.resize import Resize

    require_workers(arguments.workers)
    height, width, destination = arguments.height, arguments.width, Path(arguments.destination)
    if (height is None) != (width is None):
        raise UserError("give both --height and --width, or --scale for one factor")
    size = (height, width) if height is not None else None
    if size is None and arguments.scale is None and arguments.dataset in DATASETS:
        size = DATASETS[arguments.dataset].paper_size
    resize = Resize(size=size, scale=arguments.scale, filter=arguments.filter)
    dataset = open_dataset(arguments.dataset, arguments.source, arguments.settings)
    try:
        with progress_of(new_console(stderr=True), doing="preparing images", did="prepared") as progress:
            prepared = prepare(
                dataset,
                source=Path(arguments.source),
                destination=destination,
                resize=resize,
                format=arguments.format,
                num_workers=arguments.workers,
                progress=progress,
            )
    except KeyboardInterrupt:
        raise KeyboardInterrupt("stopped; the same command goes on from here") from None
    console = new_console()
    kept = f", {prepared.num_kept} of them before" if prepared.num_kept else ""
    console.print(printable(f"{destination}: {prepared.num_images} images are ready{kept}"), soft_wrap=True)
    if prepared.bit_depth is not None:
        console.print(f"16-bit images: {depth_in_words(prepared.bit_depth)}", soft_wrap=True)
    if prepared.problems:
        left_out = f"{len(prepared.problems)} left out of its lists; mend these and run the command again:"
        console.print(left_out, style="bold red", soft_wrap=True)
        show_problems(prepared.problems, console)
        return 1
    folder = f"./{destination}" if str(destination) in DATASETS else destination  # not the name of one
    console.print(printable(f"to train on it: recoseg train --data {folder}"), soft_wrap=True)
    return 0
