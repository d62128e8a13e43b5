"""Bring labels of a labelling tool into an ordinary folder dataset.

SRC is what the tool exported: a folder, a file or a zip. DST is a new folder,
which gets images/, labels/ and classes.json. FORMAT is told from the files if
it is left out:

  coco          polygons, RLE, keypoints; panoptic
  labelme       a JSON an image
  cvat          CVAT for images 1.1
  label_studio  JSON or JSON-MIN
  voc           SegmentationClass/, as VOC, CVAT and labelme2voc write it
  yolo          data.yaml, images/, labels/ with polygons
  masks         images/, and masks/CLASS/NAME.png or masks/NAME_CLASS.png

Images are linked, never changed. One without an object stays unlabelled; points
and lines become partial labels. An object that cannot be read is void. The same
command resumes where an earlier one stopped. The exit code is 1 when a file had
to be left out, and with --strict when an object could not be drawn.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from recoseg.cli.arguments import add_workers, require_workers
from recoseg.errors import UserError
from recoseg.text import how_many, percent_of_pixels, printable, shortened

if TYPE_CHECKING:
    from rich.console import Console

    from recoseg.label_formats.annotation import LabelSource
    from recoseg.label_formats.importing import Imported

SAVES_MEMORY = "close other programs or lower --workers, then run the same command again: it resumes"

EXAMPLES = (
    "recoseg import coco downloads/coco my_images --images photos",
    "recoseg import annotations.zip my_images",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "recoseg import [FORMAT] SRC DST [--images FOLDER] [options]"
    parser.epilog = (__doc__ or "").partition("\n\n")[2]
    parser.add_argument("words", nargs="+", metavar="[FORMAT] SRC DST", help=argparse.SUPPRESS)
    parser.add_argument("--images", metavar="FOLDER", help="where the images are, if not beside the labels")
    parser.add_argument("--copy", action="store_true", help="copy the images instead of linking them")
    parser.add_argument(
        "--overlap",
        choices=("smaller", "later", "void"),
        default="smaller",
        help="what is on top where objects overlap: the smaller (default), the later, or nothing: void",
    )
    parser.add_argument(
        "--rest",
        choices=("background", "void"),
        help="what pixels without an object are (default background; void where all is labelled)",
    )
    parser.add_argument(
        "--empty",
        choices=("unlabelled", "background"),
        default="unlabelled",
        help="what an image is that the tool lists without any object (default unlabelled)",
    )
    parser.add_argument(
        "--classes", nargs="+", metavar="NAME", help="only these classes, in this order (default all)"
    )
    parser.add_argument(
        "--thickness", type=int, default=3, metavar="N", help="of points and lines, in pixels (default 3)"
    )
    parser.add_argument(
        "--strict", action="store_true", help="exit with 1 if an object could not be drawn and is void"
    )
    add_workers(parser, "processes that draw")


def run(arguments: argparse.Namespace) -> int:
    """Imports; 1 if any file had to be left out, or with --strict if any object is void."""
    from recoseg.cli.data_tables import show_problems
    from recoseg.cli.terminal import new_console, progress_of
    from recoseg.label_formats.importing import ImportRules, import_labels

    require_workers(arguments.workers)
    rules = ImportRules(
        overlap=arguments.overlap,
        rest=arguments.rest,
        empty=arguments.empty,
        thickness=arguments.thickness,
        classes=arguments.classes,
    )
    name, place, destination = _parse_words(arguments.words)
    photos = Path(arguments.images) if arguments.images else None
    if photos is not None and not photos.is_dir():
        raise UserError(f"--images {photos} is no folder")
    console = new_console()
    source = _read(name, place, destination, photos, console)
    try:
        with progress_of(new_console(stderr=True), doing="drawing labels", did="imported") as progress:
            imported = import_labels(
                source,
                destination,
                rules=rules,
                photos=photos,
                named_only=photos is None and place.is_file() and place.suffix.lower() != ".zip",
                copy=arguments.copy,
                num_workers=arguments.workers,
                progress=progress,
            )
    except KeyboardInterrupt:
        raise KeyboardInterrupt("stopped; the same command goes on from here") from None
    _show(imported, destination, rules.overlap, console)
    if imported.problems:
        show_problems(imported.problems, console)
    is_refused = arguments.strict and imported.num_voided > 0
    if is_refused:
        console.print(f"--strict: {how_many(imported.num_voided, 'object')} could not be drawn", style="red")
    return 1 if imported.problems or is_refused else 0


def _parse_words(words: list[str]) -> tuple[str | None, Path, Path]:
    """FORMAT, if given, SRC and DST."""
    if len(words) not in (2, 3):
        raise UserError(
            f"got {how_many(len(words), 'word')}, needs SRC and DST, perhaps with a FORMAT before them"
        )
    place, destination = Path(words[-2]), Path(words[-1])
    if not place.exists():
        raise UserError(f"there is no file or folder {place}")
    return words[0] if len(words) == 3 else None, place, destination


def _read(
    name: str | None, place: Path, destination: Path, photos: Path | None, console: Console
) -> LabelSource:
    """What the tool says, after a line that tells which it is."""
    from recoseg.files import real
    from recoseg.label_formats import FORMATS, detect_format
    from recoseg.label_formats.importing import UNPACKED, require_ours
    from recoseg.label_formats.parsing import unpack
    from recoseg.text import lookup

    if name == "supervisely":
        raise UserError("supervisely: export the project as COCO there, then give FORMAT coco")
    if name is not None:
        lookup(FORMATS, name, what="format")
    for folder in (place, photos):
        if folder is not None and folder.is_dir() and real(destination).is_relative_to(real(folder)):
            raise UserError(
                f"{destination} lies in {folder}, which is only read; give another folder to write to"
            )
    require_ours(destination)
    source = unpack(place, destination / UNPACKED) if place.suffix.lower() == ".zip" else place
    name = name or detect_format(source)
    chosen = FORMATS[name]
    if photos is not None and chosen.has_photos:
        raise UserError(f"{name} has its images beside the labels: leave --images out, and put them there")
    console.print(printable(f"{place}: {chosen.title}"), soft_wrap=True)
    return chosen.read(source)


def _show(imported: Imported, destination: Path, overlap: str, console: Console) -> None:
    """Classes with their colours, by which rules, and what was left out and why."""
    from recoseg.data import DATASETS
    from recoseg.label_formats.rasterize import OVERLAPS

    _show_classes(imported, console)
    console.print(f"{OVERLAPS[overlap]}; pixels without an object are {imported.rest}", soft_wrap=True)
    for text, count in imported.notes.items():
        example = f" (such as {shortened(imported.examples[text])})" if text in imported.examples else ""
        console.print(printable(f"{count:>6,} {text}{example}"), style="yellow", soft_wrap=True)
    kept = f", {imported.num_kept:,} of them before" if imported.num_kept else ""
    images = f"{how_many(imported.num_images, 'image')}, {imported.num_labelled:,} with labels{kept}"
    console.print(printable(f"{destination}: {images}"), soft_wrap=True)
    folder = f"./{destination}" if str(destination) in DATASETS else destination  # not the name of one
    console.print(printable(f"to look at it: recoseg check {folder}"), soft_wrap=True)


def _show_classes(imported: Imported, console: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    from recoseg.types import IGNORE

    table = Table("", "colour", "class", header_style="bold")
    for heading in ("pixels", "images"):
        table.add_column(heading, justify="right", no_wrap=True)
    total = max(int(imported.pixels.sum()), 1)
    classes = imported.classes
    for index, name in [*enumerate(classes.names), (IGNORE, "(void)")]:
        is_class = index < len(classes)
        colour = "#{:02x}{:02x}{:02x}".format(*classes.palette[index]) if is_class else ""
        table.add_row(
            str(index) if is_class else "",
            Text.assemble(("██ ", colour), colour) if is_class else "",
            Text(printable(name), overflow="fold"),
            percent_of_pixels(float(imported.pixels[index] / total)),
            str(imported.images[index]),
        )
    console.print(table)
