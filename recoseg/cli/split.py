"""Choose which labels may be seen, and write that down as a split file.

DATA is a folder dataset, or with --dataset what its owner publishes. The file goes into runs with
recoseg train --split.file FILE; recoseg describe DATA --split FILE shows what it leaves visible.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from recoseg.cli.arguments import (
    USAGE,
    add_dataset,
    add_workers,
    data_settings,
    require_workers,
    require_writable,
)
from recoseg.cli.data_tables import split_summary
from recoseg.config.setting import fields, help_texts
from recoseg.config.split_settings import SplitSettings
from recoseg.errors import UserError
from recoseg.text import printable

if TYPE_CHECKING:
    from rich.console import Console

    from recoseg.splits.label_split import LabelSplit

TAKES_SETTINGS = True
SAVES_MEMORY = "fewer processes need less: --workers 1"
_METAVARS = {
    "fraction": "1/8", "pixels": "1|5%", "partition": "NAME", "unlabelled": "10%",
    "labelled_list": "FILE", "unlabelled_list": "FILE",
}  # fmt: skip


EXAMPLES = (
    "recoseg split my_images --labels 20 --out twenty.json",
    "recoseg split --dataset cityscapes data/cityscapes --labels 20 --out 20.json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the config's section `split`, by their own names."""
    parser.usage = f"recoseg split {USAGE} --out FILE [options]"
    parser.add_argument("--out", metavar="FILE", required=True, help="the split file to write")
    parser.add_argument("--force", action="store_true", help="write over an existing file")
    add_dataset(parser)
    texts = help_texts(SplitSettings)
    for option in fields(SplitSettings):
        if option.name == "file":
            continue
        word, text = (
            f"--{option.name.replace('_', '-')}",
            texts[option.name].replace("%", "%%"),
        )
        if option.default is False:
            parser.add_argument(word, action="store_const", const="true", help=text)
        else:
            parser.add_argument(word, metavar=_METAVARS.get(option.name, "N"), help=text)
    add_workers(parser)


def run(arguments: argparse.Namespace) -> int:
    from recoseg import config as configs
    from recoseg.cli.terminal import new_console, progress_of
    from recoseg.data.build import build_dataset
    from recoseg.splits.draw import build_split

    out = Path(arguments.out)
    settings = data_settings(arguments, ["--out", "--force", "--dataset", "--workers", *_option_words()])
    asked = split_settings(arguments)
    require_writable(out, force=arguments.force)
    require_workers(arguments.workers)
    config = configs.load(None, [*settings, *asked])
    dataset = build_dataset(config.data)
    with progress_of(new_console(stderr=True), doing="reading labels") as progress:
        split = build_split(config.split, dataset, num_workers=arguments.workers, progress=progress)
    split.save(out)
    show(split, out, new_console())
    return 0


def _option_words() -> list[str]:
    return [f"--{option.name.replace('_', '-')}" for option in fields(SplitSettings) if option.name != "file"]


def split_settings(arguments: argparse.Namespace) -> list[str]:
    """The options as settings of the config, which checks them."""
    given = {option.name: getattr(arguments, option.name, None) for option in fields(SplitSettings)}
    words = [f"--split.{name}={value}" for name, value in given.items() if value is not None]
    if not set(given) - {"seed"} & {name for name, value in given.items() if value is not None}:
        raise UserError(f"which labels? Give one of {', '.join(_option_words()[:-1])}")
    return words


def show(split: LabelSplit, out: Path, console: Console) -> None:
    """How often each class occurs, and where the file is."""
    from rich.table import Table
    from rich.text import Text

    table = Table("", "class", header_style="bold")
    table.add_column("labelled images", justify="right", no_wrap=True)
    for number, (name, count) in enumerate(split.class_counts.items()):
        table.add_row(str(number), Text(printable(name), overflow="fold"), str(count))
    console.print(table)
    absent = [name for name, count in split.class_counts.items() if not count]
    if absent:
        told = printable(f"In no labelled image: {', '.join(absent)}.")
        console.print(told, style="yellow")
    console.print(printable(split_summary(split)))
    console.print(printable(f"split file: {out}"), soft_wrap=True)
