"""Label images with the network of a run, or with the clicks of recoseg label.

IMAGES are files, folders (with their sub-folders) or patterns such as
"photos/**/*.jpg". For each image, at its size, OUT gets

  labels/NAME.png         the class of each pixel, as its index; viewers show
                          the colours of the classes
  overlays/NAME.jpg       the image under these colours, with contours
  index.html              a gallery of all images, the least certain first:
                          those to label next
  confidence/NAME.png     --confidence: the probability of that class, in 16
                          bits, 65535 for certainty
  probabilities/NAME.npy  --probabilities: those of all classes, as float16
                          (classes, height, width)

and classes.json with the names and colours of the classes; thumbnails/ is what
the gallery shows. Files that cannot be read are listed and left out; the exit
code is then 1.

RUN may be a folder that you labelled with recoseg label: a classifier is
fitted to its labels in seconds, without a training.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recoseg.cli.arguments import add_trust_argument
from recoseg.errors import UserError
from recoseg.text import printable

if TYPE_CHECKING:
    from rich.console import Console

    from recoseg.overlay import Overlay
    from recoseg.predict.image_list import ImageFile
    from recoseg.predict.output_folder import OutputFolder
    from recoseg.predict.predictor import Predictor

_OF_NETWORKS = {
    "weights": "last",
    "window": None,
    "overlap": 0.25,
    "flip": False,
    "scales": [1.0],
    "device": "auto",
    "trust": False,
}
"""Options that have no effect on a labelled folder, and their defaults."""

SAVES_MEMORY = "large images need less in parts: --window 512; --resume goes on with those that are left"


EXAMPLES = (
    "recoseg predict runs/first photos -o masks",
    "recoseg predict runs/first photos/*.jpg -o masks --confidence",
    "recoseg predict runs/first photos -o masks --opacity 0.6 --legend",
    "recoseg predict leaves photos -o masks",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (__doc__ or "").partition("\n\n")[2]
    parser.add_argument(
        "run_folder", metavar="RUN", help="a run folder, hf://USER/NAME, or a labelled folder"
    )
    parser.add_argument("images", metavar="IMAGES", nargs="+", help="files, folders, patterns")
    parser.add_argument("-o", "--out", metavar="OUT", required=True, help="the folder for the results")
    parser.add_argument("--confidence", action="store_true", help="write how sure the network is")
    parser.add_argument(
        "--probabilities", action="store_true", help="write the probabilities of all classes (large)"
    )
    parser.add_argument(
        "--no-overlay", dest="overlay", action="store_false", help="write no overlays and no gallery"
    )
    parser.add_argument(
        "--opacity",
        type=float,
        metavar="F",
        help="strength of the overlays' colours, from 0 (contours alone) to 1 (default 0.4)",
    )
    parser.add_argument(
        "--untinted",
        nargs="*",
        metavar="CLASS",
        help="classes that overlays leave as they are (default: background; without names: none)",
    )
    parser.add_argument("--legend", action="store_true", help="name the classes below each overlay")
    parser.add_argument("--weights", choices=("last", "best"), default="last", help="default: last")
    parser.add_argument(
        "--window",
        type=int,
        metavar="N",
        help="show larger images through blended windows of N pixels (default: only those of over 2 "
        "megapixels)",
    )
    parser.add_argument(
        "--overlap",
        type=float,
        default=0.25,
        metavar="F",
        help="share of a window that the next one has in common with it (default 0.25)",
    )
    parser.add_argument("--flip", action="store_true", help="average with the flipped image's prediction")
    parser.add_argument(
        "--scales",
        type=float,
        nargs="+",
        default=[1.0],
        metavar="S",
        help="average over these sizes, such as 0.75 1 1.25",
    )
    parser.add_argument("--device", default="auto", metavar="NAME", help="cpu, cuda, cuda:1 (default auto)")
    add_trust_argument(parser)
    existing = parser.add_mutually_exclusive_group()
    existing.add_argument("--resume", action="store_true", help="leave out images whose results are in OUT")
    existing.add_argument("--force", action="store_true", help="replace results that are in OUT")


def run(arguments: argparse.Namespace) -> int:
    """1 if any image could not be read."""
    from recoseg.cli.terminal import new_console
    from recoseg.overlay import Overlay
    from recoseg.predict.image_list import find_images
    from recoseg.predict.output_folder import OutputFolder
    from recoseg.report.prediction_gallery import write_gallery

    look = _look(arguments)
    output = OutputFolder(
        path=Path(arguments.out),
        overlay=look,
        confidence=arguments.confidence,
        probabilities=arguments.probabilities,
    )
    images = find_images(arguments.images, out=output.path)
    predictor, made_by = _open(arguments)
    if look is not None:
        look.tinted(predictor.classes)  # says which class is unknown, before any work is done
        if look != Overlay():
            made_by["overlays"] = look.told()
    todo = output.prepare(
        images, predictor.classes, made_by, resume=arguments.resume, overwrite=arguments.force
    )
    if len(todo) < len(images):
        print(
            f"{len(images) - len(todo)} of {len(images)} images have their results in "
            f"{printable(str(output.path))} already"
        )
    outcome = 0
    if todo:
        outcome = _predict_and_tell(predictor, todo, output, new_console(stderr=True))
    else:
        print("nothing is left to do")
    if look is not None:
        title = f"What {Path(arguments.run_folder).resolve().name} sees"
        gallery = write_gallery(output, predictor.classes, title=title)
        print(f"gallery: {printable(str(gallery))}")
    return outcome


def _open(arguments: argparse.Namespace) -> tuple[Predictor, dict[str, str]]:
    """What predicts, and all that its results depend on."""
    from recoseg.files import digest
    from recoseg.label.folder_predictor import is_label_folder, load_label_folder
    from recoseg.label.journal import NAME as JOURNAL
    from recoseg.runs.hub import local_folder
    from recoseg.runs.run import load
    from recoseg.runs.run_weights import weights_file
    from recoseg.training.run_folder import RunFolder

    if is_label_folder(arguments.run_folder):
        for name, default in _OF_NETWORKS.items():
            if getattr(arguments, name) != default:
                raise UserError(f"--{name} has no effect on a labelled folder: leave it out")
        root = Path(arguments.run_folder)
        return load_label_folder(root), {"labels": digest(root / JOURNAL)}
    folder = local_folder(arguments.run_folder)
    predictor = load(
        folder,
        weights=arguments.weights,
        device=arguments.device,
        window=arguments.window,
        overlap=arguments.overlap,
        flip=arguments.flip,
        scales=arguments.scales,
        trust=arguments.trust,
    )
    return predictor, {
        "weights": digest(weights_file(RunFolder.open(folder), arguments.weights)),
        "looks": predictor.protocol.name(len(predictor.classes)),
    }


def _look(arguments: argparse.Namespace) -> Overlay | None:
    """How overlays are drawn; None if there are none, and then nothing else may be said of them."""
    from recoseg.overlay import OPACITY, Overlay

    if not arguments.overlay:
        for name in ("opacity", "untinted", "legend"):
            if getattr(arguments, name) not in (None, False):
                raise UserError(f"--{name} has no effect with --no-overlay")
        return None
    return Overlay(
        opacity=OPACITY if arguments.opacity is None else arguments.opacity,
        untinted=None if arguments.untinted is None else tuple(arguments.untinted),
        legend=arguments.legend,
    )


def _predict_and_tell(
    predictor: Predictor, images: Sequence[ImageFile], output: OutputFolder, console: Console
) -> int:
    from rich.text import Text

    from recoseg.predict.many import predict_many
    from recoseg.progress import ProgressBar

    start, num_unread = time.monotonic(), 0
    with ProgressBar(console) as bar:

        def show(done: float) -> None:
            bar.show(done, len(images), note=speed(done, start))

        for problem in predict_many(predictor, images, output, progress=show):
            num_unread += problem.fatal
            word = "left out" if problem.fatal else "note"
            console.print(Text(printable(f"{word}: {problem}")), soft_wrap=True)
    num_done = len(images) - num_unread
    print(f"{counted(num_done)} labelled, {speed(num_done, start)}: {printable(str(output.path))}")
    if num_unread:
        print(f"{num_unread} of {counted(len(images))} could not be read")
    return 1 if num_unread else 0


def counted(images: int) -> str:
    return f"{images} image{'' if images == 1 else 's'}"


def speed(done: float, start: float) -> str:
    each_second = done / max(time.monotonic() - start, 1e-9)
    return f"{each_second:.{0 if each_second >= 100 else 2}f} images/s"
