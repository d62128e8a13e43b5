"""Write masks for a labelling tool, to be corrected there: COCO, or predictions of Label Studio.

DATA is a folder with labels/ and classes.json: a dataset, or what recoseg predict made (then with --images).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from recoseg.cli.arguments import require_writable
from recoseg.errors import UserError
from recoseg.text import how_many, printable

LOCAL_FILES = "/data/local-files/?d="


EXAMPLES = ("recoseg export-labels masks corrected.json --format coco",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", metavar="DATA", help="a dataset, or a folder of predictions")
    parser.add_argument("out", metavar="OUT", help="the JSON file to write")
    parser.add_argument("--format", choices=("coco", "label_studio"), default="coco", help="default: coco")
    parser.add_argument("--images", metavar="FOLDER", help="where the images are (default DATA/images)")
    parser.add_argument(
        "--polygons", action="store_true", help="COCO: polygons instead of RLE masks, for tools without masks"
    )
    parser.add_argument(
        "--prefix",
        metavar="TEXT",
        help=f"Label Studio: what comes before the names of images (default {LOCAL_FILES})",
    )
    parser.add_argument("--force", action="store_true", help="replace a file of that name")


def run(arguments: argparse.Namespace) -> int:
    from recoseg.cli.terminal import new_console, progress_of
    from recoseg.files import write_whole
    from recoseg.label_formats.exporting import LabelFolder, coco_text, label_studio_setup, label_studio_text

    is_coco = arguments.format == "coco"
    if arguments.polygons and not is_coco:
        raise UserError("--polygons: only for --format coco; Label Studio gets brushes")
    if arguments.prefix is not None and is_coco:
        raise UserError("--prefix: only for --format label_studio")
    out = Path(arguments.out)
    setup = out.with_suffix(".xml")
    for path in [out] if is_coco else [out, setup]:
        require_writable(path, force=arguments.force, option="OUT")
    folder = LabelFolder.open(Path(arguments.data), Path(arguments.images) if arguments.images else None)
    with progress_of(new_console(stderr=True), doing="writing labels", did="wrote") as progress:
        if is_coco:
            content = coco_text(
                folder,
                folder.classes,
                polygons=arguments.polygons,
                progress=lambda done: progress(done, len(folder.files)),
            )
        else:
            prefix = LOCAL_FILES if arguments.prefix is None else arguments.prefix
            content = label_studio_text(folder, prefix=prefix, progress=progress)
    write_whole(out, content)
    console = new_console()
    size = f"{how_many(len(folder.files), 'image')}, {len(content) / 1e6:.1f} MB"
    console.print(printable(f"{out}: {size}"), soft_wrap=True)
    if not is_coco:
        write_whole(setup, label_studio_setup(folder.classes))
        console.print(
            printable(f"{setup}: the labelling interface, for the settings of the project"), soft_wrap=True
        )
    return 0
