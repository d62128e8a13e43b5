"""Write a page about one run, or about several side by side.

The runs must be of datasets with the same classes; the pictures are the first run's.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

NUM_PICTURES = 6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", metavar="RUN", nargs="+", help="run folders")
    parser.add_argument(
        "--out", metavar="FILE", help="the page to write (default: report/index.html in the first run)"
    )


def run(arguments: argparse.Namespace) -> int:
    paths = [Path(path) for path in arguments.runs]
    page = write_report(paths, Path(arguments.out) if arguments.out else None)
    print(f"page: {page}")
    return 0


def write_report(paths: Sequence[Path], page: Path | None = None, *, title: str | None = None) -> Path:
    """The page about these run folders; returns where it is."""
    from recoseg.builders.runs import trained_run
    from recoseg.report.page import write_page
    from recoseg.report.pictures import spread, take_pictures
    from recoseg.report.run_view import view_run
    from recoseg.train.run_folder import RunFolder

    runs = [trained_run(RunFolder.open(path)) for path in paths]
    first = runs[0]
    views = []
    for other in runs:
        pictures = take_pictures(
            other.model, first.dataset, spread(first.val_keys, NUM_PICTURES), other.device
        )
        views.append(
            view_run(
                other.folder,
                name=other.folder.path.name,
                classes=other.dataset.classes,
                pictures=pictures,
                command=f"recoseg train --config {other.folder.config}",
            )
        )
    page = page or first.folder.page
    page.parent.mkdir(parents=True, exist_ok=True)
    write_page(page, views, title=title or " and ".join(view.name for view in views))
    return page
