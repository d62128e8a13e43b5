"""Arguments that several commands have: which dataset is meant, how many processes, whom to trust."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recoseg.config.train_settings import MOST_WORKERS
from recoseg.errors import UserError
from recoseg.text import did_you_mean, shortened

if TYPE_CHECKING:
    from recoseg.data.file_dataset import FileDataset

USAGE = "DATA [--dataset NAME]"


def open_dataset(name: str, root: str, settings: Sequence[str] = ()) -> FileDataset:
    """The dataset `name` at `root`; `settings` are words such as --data.split original."""
    from recoseg.config import load
    from recoseg.data.build import build_dataset
    from recoseg.data.file_dataset import FileDataset

    for word in settings:
        if word.startswith("--") and not word.startswith("--data."):
            raise UserError(
                f"unexpected argument {word!r}; only settings of the dataset, --data.NAME, belong here"
            )
    if name == "scenes":
        raise UserError("the scenes are drawn when needed; they have no files")
    dataset = build_dataset(load(None, [f"--data.name={name}", f"--data.root={root}", *settings]).data)
    if not isinstance(dataset, FileDataset):
        raise AssertionError(f"{name} has a root but no files")
    return dataset


def add_dataset(parser: argparse.ArgumentParser) -> None:
    """`--dataset`. DATA itself stays with the settings: argparse would take their values for it."""
    parser.add_argument(
        "--dataset", metavar="NAME", help="what DATA holds, such as cityscapes (default folder); or scenes"
    )


def data_settings(arguments: argparse.Namespace, options: Sequence[str]) -> list[str]:
    """Settings of the config that name the dataset; `options` are what the command knows besides."""
    words = list(arguments.settings)
    named = [words.pop(0)] if words and not words[0].startswith("--") else []
    for word in words:
        name = word.partition("=")[0]
        if word.startswith("--") and name != "--data" and not name.startswith("--data."):
            raise UserError(f"unexpected argument {name!r}{did_you_mean(name, options)}")
    if arguments.dataset:
        places = [f"--data.root={place}" for place in named]
        return [f"--data.name={arguments.dataset}", *places, *words]
    if not named and not any(word.partition("=")[0] in ("--data", "--data.name") for word in words):
        raise UserError("which data? Give a folder with images/ and labels/, or --dataset NAME")
    return [f"--data={place}" for place in named] + words


def add_workers(parser: argparse.ArgumentParser, what: str = "processes that read labels") -> None:
    default = min(os.cpu_count() or 1, 8)
    parser.add_argument(
        "--workers", type=int, default=default, metavar="N", help=f"{what} (default {default})"
    )


def require_writable(out: Path, *, force: bool, option: str = "--out") -> None:
    """Said before any label is read."""
    if out.is_dir():
        raise UserError(f"{option} {out} is a folder; give the name of a file")
    if out.exists() and not force:
        raise UserError(f"{out} exists already; choose another {option}, or write over it with --force")
    if not out.parent.is_dir():
        raise UserError(f"{option} {out}: there is no folder {out.parent}")


def require_picture(arguments: argparse.Namespace, *needing_it: str) -> None:
    """What can be said of --picture, --force and the options `needing_it` before any file is read."""
    from recoseg.figures.sheet import require_ending

    for name in ("force", *needing_it):
        if getattr(arguments, name) and not arguments.picture:
            raise UserError(f"--{name} has no effect without --picture")
    if arguments.picture:
        require_ending(Path(arguments.picture))
        require_writable(Path(arguments.picture), force=arguments.force, option="--picture")


def require_workers(num_workers: int) -> None:
    if num_workers < 1:
        raise UserError(f"--workers must be at least 1, not {num_workers}")
    if num_workers > MOST_WORKERS:
        raise UserError(f"--workers must be at most {MOST_WORKERS}, not {shortened(str(num_workers))}")


def add_trust_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--trust",
        action="store_true",
        help="let a run's model.factory import and run code of whoever made the run",
    )
