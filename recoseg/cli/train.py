"""Train a network and write a run folder with its scores and its page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from recoseg.cli.report import write_report

if TYPE_CHECKING:
    from recoseg.train.trainer import Trainer

TAKES_SETTINGS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from recoseg.config.describe import describe_settings

    parser.usage = "recoseg train [--config FILE] [--data FOLDER] [--out RUN] [--section.name VALUE ...]"
    parser.add_argument(
        "--config", metavar="FILE", help="a YAML file of settings, or the name of a shipped one"
    )
    parser.add_argument("--out", metavar="RUN", help="the run folder to make (default: runs/ and a number)")
    parser.add_argument("--resume", metavar="RUN", help="go on with a run that ended early")
    parser.epilog = "settings, in the config file or as --section.name VALUE:\n\n" + describe_settings()


def run(arguments: argparse.Namespace) -> int:
    from rich.console import Console

    console = Console()
    trainer = resumed(arguments) if arguments.resume else new(arguments)
    folder = trainer.folder
    trainer.run(console)
    page = write_report([folder.path])
    console.print(f"run folder: {folder.path}\npage:       {page}", highlight=False, soft_wrap=True)
    return 0


def new(arguments: argparse.Namespace) -> Trainer:
    from rich.console import Console

    from recoseg import config as configs
    from recoseg.builders.runs import new_run
    from recoseg.cli.check import progress_of

    config = configs.load(arguments.config, arguments.settings)
    path = Path(arguments.out) if arguments.out else next_run_path()
    if config.split.file is not None or config.split == configs.RunConfig().split:
        return new_run(config, path)
    with progress_of(Console(stderr=True), doing="reading labels") as progress:  # the split must be drawn
        return new_run(config, path, progress=progress)


def resumed(arguments: argparse.Namespace) -> Trainer:
    from recoseg import config as configs
    from recoseg.builders.runs import resumed_run
    from recoseg.errors import UserError
    from recoseg.train.run_folder import RunFolder

    if arguments.config or arguments.out or arguments.settings:
        raise UserError("--resume takes the run's own config: leave out --config, --out and settings")
    folder = RunFolder.open(Path(arguments.resume))
    return resumed_run(configs.load(folder.config), folder)


def next_run_path(parent: Path = Path("runs")) -> Path:
    """runs/001, runs/002, ...: the first number after those that exist."""
    numbers = [int(path.name) for path in parent.glob("[0-9]*") if path.name.isdigit()]
    return parent / f"{max(numbers, default=0) + 1:03d}"
