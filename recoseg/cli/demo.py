"""See it work: train on drawn street scenes and write a page about it."""

from __future__ import annotations

import argparse
from pathlib import Path

TAKES_SETTINGS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "recoseg demo [--out FOLDER] [--section.name VALUE ...]"
    parser.add_argument(
        "--out", metavar="FOLDER", help="the folder to make (default: runs/demo, runs/demo-2, ...)"
    )
    parser.epilog = "The settings are those of the shipped config 'demo'; recoseg train --help explains them."


def run(arguments: argparse.Namespace) -> int:
    from rich.console import Console

    from recoseg import config as configs
    from recoseg.builders.runs import new_run
    from recoseg.cli.report import write_report

    console = Console()
    out = Path(arguments.out) if arguments.out else free_path(Path("runs/demo"))
    config = configs.load("demo", arguments.settings)
    runs = []
    for method in ("supervised",):
        console.print(f"training: {method}", highlight=False)
        trainer = new_run(config, out / method)
        trainer.run(console)
        runs.append(trainer.folder.path)
    page = write_report(runs, out / "index.html", title="recoseg demo")
    console.print(f"done; open the page: {page.resolve().as_uri()}", highlight=False, soft_wrap=True)
    return 0


def free_path(wanted: Path) -> Path:
    """`wanted`, or the first of wanted-2, wanted-3, ... that does not exist."""
    number, path = 1, wanted
    while path.exists():
        number += 1
        path = wanted.with_name(f"{wanted.name}-{number}")
    return path
