"""Write a page about one run, or about several side by side.

The runs must be of datasets with the same classes; the pictures are the first run's.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from recoseg.cli.arguments import add_trust_argument
from recoseg.errors import UserError
from recoseg.text import printable, shortened

NUM_PICTURES = 6

KEEPS_MEMORY = True
SAVES_MEMORY = "fewer pictures need less: --pictures 1"


EXAMPLES = (
    "recoseg report runs/first",
    "recoseg report runs/first runs/second --out compared.html",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", metavar="RUN", nargs="+", help="run folders")
    parser.add_argument(
        "--out", metavar="FILE", help="the page to write (default: report/index.html in the first run)"
    )
    parser.add_argument(
        "--pictures",
        metavar="N",
        default=str(NUM_PICTURES),
        help=f"validation images to show, evenly spaced (default: {NUM_PICTURES})",
    )
    add_trust_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    from recoseg.cli.terminal import told_progress
    from recoseg.runs.pages import write_report

    pictures = arguments.pictures
    if not pictures.isdecimal() or len(pictures) > 9:
        raise UserError(f"--pictures: got {shortened(repr(pictures))}, needs a whole number, 0 for none")
    paths = [Path(path) for path in arguments.runs]
    page = write_report(
        paths,
        Path(arguments.out) if arguments.out else None,
        num_pictures=int(pictures),
        progress_of=told_progress(),
        trust=arguments.trust,
    )
    print(f"page: {printable(str(page))}")
    return 0
