"""Read every file of a dataset; list its classes and all that is wrong.

DATA holds images/ and labels/, and perhaps train.txt, val.txt, test.txt and classes.json; or, with
--dataset, what its owner publishes. Nothing is written there. With --picture also a contact sheet: images
under their labels, the worst problems first. The exit code is 1 when anything is wrong.
"""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from recoseg.cli.arguments import add_workers, require_picture, require_workers
from recoseg.cli.data_tables import show_problems
from recoseg.errors import UserError
from recoseg.text import how_many, percent_of_pixels, printable

if TYPE_CHECKING:
    from rich.console import Console

    from recoseg.data.dataset_check import CheckReport
    from recoseg.types import ClassInfo

SAVES_MEMORY = "fewer processes need less: --workers 1"


EXAMPLES = ("recoseg check my_images", "recoseg check my_images --picture labels.png")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", metavar="DATA", help="the folder to check")
    parser.add_argument(
        "--dataset",
        default="folder",
        metavar="NAME",
        help="what it holds, such as cityscapes (default folder)",
    )
    parser.add_argument(
        "--picture",
        metavar="FILE",
        help="a .png, .svg or .pdf to write: images under their labels, worst first",
    )
    parser.add_argument("--force", action="store_true", help="write over an existing picture")
    add_workers(parser, "processes that read files")


def run(arguments: argparse.Namespace) -> int:
    """Prints the report; 1 if it has any problem."""
    from recoseg.cli.terminal import new_console, progress_of

    require_workers(arguments.workers)
    require_picture(arguments)
    with progress_of(new_console(stderr=True)) as progress:
        report = checked(arguments.dataset, arguments.data, arguments.workers, progress)
    show(report, new_console())
    if arguments.picture:
        _draw(report, Path(arguments.data), Path(arguments.picture))
        print(f"picture: {printable(arguments.picture)}")
    return 1 if report.problems else 0


def checked(name: str, root: str, num_workers: int, progress: Callable[[int, int], None]) -> CheckReport:
    """A folder dataset is checked as it lies there; others once their adapter has found their files."""
    from recoseg.cli.arguments import open_dataset
    from recoseg.data.dataset_check import check_dataset, check_folder
    from recoseg.label_formats import find_foreign_labels

    if name == "folder":
        foreign = find_foreign_labels(Path(root))
        try:
            report = check_folder(Path(root), num_workers=num_workers, progress=progress)
        except UserError as error:
            if foreign:
                raise UserError(f"{foreign[0]} ({error})") from None
            raise
        return replace(report, problems=(*foreign, *report.problems))
    return check_dataset(open_dataset(name, root), num_workers=num_workers, progress=progress)


def _draw(report: CheckReport, data: Path, path: Path) -> None:
    """The contact sheet of what was checked."""
    from recoseg.data.image_files import FULL_DEPTH
    from recoseg.figures.contact_sheet import MOST_IMAGES, checked_image, draw_contact_sheet
    from recoseg.figures.sheet import Heading

    chosen = report.worst_first(MOST_IMAGES)
    if not chosen:
        raise UserError(f"--picture: there is no image in {data} to show")
    images = [
        checked_image(
            key,
            report.entries[key],
            problems,
            report.code,
            report.classes,
            bit_depth=report.bit_depth or FULL_DEPTH,
        )
        for key, problems in chosen.items()
    ]
    num_wrong = sum(map(bool, chosen.values()))
    about = f"{how_many(num_wrong, 'image')} with problems first" if num_wrong else "No image has a problem"
    about += "; the others are evenly spaced." if len(chosen) > num_wrong else "."
    title = (
        f"{data.resolve().name}: {len(chosen)} of {how_many(len(report.entries), 'image')} under their labels"
    )
    draw_contact_sheet(path, images, report.classes, Heading(title, about))


def show(report: CheckReport, console: Console) -> None:
    """The whole report, to be read from the top."""
    show_subsets(report, console)
    if report.classes:
        _show_classes(report, report.classes, console)
    for note in report.notes:
        console.print(textwrap.fill(printable(note), console.width), soft_wrap=True)
    if report.suggestion:
        console.print("There is no classes.json. To name the classes, save this as classes.json:")
        console.print(json.dumps(report.suggestion), soft_wrap=True)
    if not report.problems:
        console.print("No problems found.", style="green")
        return
    show_problems(report.problems, console)


def show_subsets(report: CheckReport, console: Console) -> None:
    for subset, count in report.subsets.items():
        if count.num_images:
            images = f"{count.num_images} image{'s' if count.num_images > 1 else ''}"
            console.print(f"{subset}: {images}, {count.num_labelled} with usable labels")


def _show_classes(report: CheckReport, classes: ClassInfo, console: Console) -> None:
    """A row a class: its share of all label pixels, and the images in which it occurs."""
    from rich.table import Table
    from rich.text import Text

    from recoseg.types import IGNORE

    subsets = {subset: count for subset, count in report.subsets.items() if count.num_images}
    table = Table("", "class", header_style="bold")
    table.add_column("pixels", justify="right", no_wrap=True)
    for subset in subsets:
        table.add_column(f"{subset} images", justify="right", no_wrap=True)
    share = report.pixel_share
    for index, name in [*enumerate(classes.names), (IGNORE, "(void)")]:
        images = [str(count.images[index]) for count in subsets.values()]
        number = str(index) if index < len(classes) else ""
        table.add_row(
            number, Text(printable(name), overflow="fold"), percent_of_pixels(float(share[index])), *images
        )
    console.print(table)
