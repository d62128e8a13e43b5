"""Write a page about one run, or about several side by side.

The runs must be of datasets with the same classes; the pictures are the first run's.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recoseg.cli.run_words import add_trust_argument
from recoseg.errors import UserError
from recoseg.words import listed, printable, shortened

if TYPE_CHECKING:
    from rich.console import Console

    from recoseg.data.base import Dataset
    from recoseg.report.run_view import RunView
    from recoseg.train.run_folder import RunFolder

NUM_PICTURES = 6

KEEPS_MEMORY = True
SAVES_MEMORY = "fewer pictures need less: --pictures 1"


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


def number_of_pictures(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise UserError(f"--pictures: got {shortened(repr(text))}, needs a whole number, 0 for none")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    from recoseg.cli.terminal import new_console

    paths = [Path(path) for path in arguments.runs]
    page = write_report(
        paths,
        Path(arguments.out) if arguments.out else None,
        num_pictures=number_of_pictures(arguments.pictures),
        console=new_console(stderr=True),
        trust=arguments.trust,
    )
    print(f"page: {printable(str(page))}")
    return 0


def write_report(
    paths: Sequence[Path],
    page: Path | None = None,
    *,
    title: str | None = None,
    num_pictures: int = NUM_PICTURES,
    console: Console | None = None,
    trust: bool = False,
) -> Path:
    """The page about these run folders; returns where it is. `console` shows how far it is.

    With `trust`, networks that functions of their authors make are made.
    """
    from recoseg.builders.data import build_dataset, val_keys
    from recoseg.cli.terminal import new_console
    from recoseg.config.load import load
    from recoseg.report.page import require_replaceable, require_same_classes, write_page
    from recoseg.report.pictures import spread
    from recoseg.train.run_folder import RunFolder

    console = console or new_console(quiet=True)
    if page is not None:
        require_replaceable(page)
    folders = [RunFolder.open(path) for path in paths]
    datasets = [build_dataset(load(folder.config).data) for folder in folders]
    names = distinct_names(paths)
    require_same_classes([(name, dataset.classes) for name, dataset in zip(names, datasets, strict=True)])
    shown = datasets[0]
    keys = spread(val_keys(shown), num_pictures)
    views = [
        view(folder, name, shown, keys, console, trust=trust)
        for folder, name in zip(folders, names, strict=True)
    ]
    page = page or folders[0].page
    page.parent.mkdir(parents=True, exist_ok=True)
    write_page(page, views, title=title or listed(names))
    return page


def distinct_names(paths: Sequence[Path]) -> list[str]:
    """The names of the folders, or their whole paths where two have the same name."""
    names = [path.resolve().name for path in paths]
    return names if len(set(names)) == len(names) else [str(path) for path in paths]


def view(
    folder: RunFolder, name: str, shown: Dataset, keys: Sequence[str], console: Console, *, trust: bool
) -> RunView:
    """A run as the page shows it; one without weights has neither a survey nor pictures."""
    from recoseg.builders.survey import surveyed
    from recoseg.builders.trained import trained_run
    from recoseg.cli.check import progress_of
    from recoseg.config.describe import describe_method, describe_model
    from recoseg.config.load import load
    from recoseg.report.pictures import take_pictures
    from recoseg.report.run_view import view_run

    config = load(folder.config)
    survey, pictures = None, []
    if folder.weights.is_file():
        trained = trained_run(folder, trust=trust)
        with progress_of(console, doing=f"looking at {name}", did=f"{name}: looked at") as progress:
            survey = surveyed(trained, progress=progress)
        pictures = take_pictures(trained.model, shown, keys, trained.device)
    return view_run(
        folder,
        name=name,
        classes=shown.classes,
        method=describe_method(config),
        network=describe_model(config.model),
        pictures=pictures,
        command=f"recoseg train --config {shlex.quote(str(folder.config))}",
        survey=survey,
    )
