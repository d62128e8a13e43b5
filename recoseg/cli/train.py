"""Train a network and write a run folder with its scores and its page."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, get_type_hints

from recoseg.errors import UserError
from recoseg.text import printable

if TYPE_CHECKING:
    from recoseg.config import RunConfig
    from recoseg.train.trainer import Trainer

TAKES_SETTINGS = True
KEEPS_MEMORY = True
SAVES_MEMORY = (
    "smaller steps, crops and networks need less: --train.labelled_per_step, --augment.crop, --train.cache_gb"
)
_SETTINGS = """\
the settings that most people need:
  --data FOLDER            your images, or the name of a dataset
  --split.labels N         use N of the labelled images
  --method NAME            {methods}
  --contrast reco          regional contrast on top; --contrast none
  --train.iterations N     how long
  --train.labelled_per_step N, --augment.crop HxW
                           how many crops a step has, and how large they are
  --model.encoder NAME, --model.pretrained imagenet
                           the network, and published weights to start from
  --optimiser.lr RATE      how fast it learns
  --train.seed N           everything random follows from it

Any other setting of a config is --section.name VALUE too:
  recoseg train --help SECTION, one of {sections};
  recoseg train --help all"""


EXAMPLES = (
    "recoseg train --config own_images --data my_images --out runs/first",
    "recoseg train --config own_images --data my_images --method mean_teacher \\\n"
    "      --contrast reco --out runs/second",
    "recoseg train --resume runs/first",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from recoseg.config.help_text import SECTIONS
    from recoseg.config.parse import members
    from recoseg.config.settings import RunConfig

    parser.usage = "recoseg train [--config FILE] [--data FOLDER] [--out RUN] [settings]"
    parser.add_argument(
        "--config", metavar="FILE", help="a YAML file of settings, or the name of a shipped one"
    )
    parser.add_argument("--out", metavar="RUN", help="the run folder to make (default: runs/ and a number)")
    parser.add_argument("--resume", metavar="RUN", help="go on with a run that ended early")
    parser.add_argument(
        "--no-page", action="store_true", help="leave out the page, which recoseg report writes at any time"
    )
    methods = textwrap.wrap(", ".join(members(get_type_hints(RunConfig)["method"])), 52)
    parser.epilog = _SETTINGS.format(
        methods=f"\n{27 * ' '}".join(methods),
        sections=textwrap.fill(", ".join(SECTIONS), 44, subsequent_indent="    "),
    )


def run(arguments: argparse.Namespace) -> int:
    from recoseg import config as configs
    from recoseg.cli.terminal import new_console, told_progress
    from recoseg.runs.run_folder import RunFolder
    from recoseg.train.processes import is_first, processes

    words = arguments.settings
    if arguments.resume:
        if arguments.config or arguments.out:
            raise UserError("--resume takes the run's own config: leave out --config and --out")
        config = configs.load(RunFolder.open(Path(arguments.resume)).config, words)
    else:
        config = configs.load(arguments.config, words)
    with processes(config.train.device):
        writes = is_first()
        console = new_console(quiet=not writes)
        trainer = resumed(config, arguments.resume) if arguments.resume else new(config, arguments.out)
        folder = trainer.folder
        trainer.run(console)
    if writes:  # on its own: the other processes are done
        console.print(printable(f"run folder: {folder.path}"), soft_wrap=True)
        if not arguments.no_page:
            from recoseg.runs.pages import write_report

            page = write_report(
                [folder.path], progress_of=told_progress(stderr=False), trust=True
            )  # trained here
            console.print(printable(f"page:       {page}"), soft_wrap=True)
    return 0


def resumed(config: RunConfig, path: str) -> Trainer:
    """The run in a folder, which must have been begun with this config, but for harmless changes."""
    from recoseg import config as configs
    from recoseg.config.load import flat
    from recoseg.runs.run_folder import RunFolder, require_same
    from recoseg.runs.start import resumed_run

    folder = RunFolder.open(Path(path))
    require_same(flat(configs.load(folder.config)), flat(config))
    return resumed_run(config, folder)


def new(config: RunConfig, out: str | None) -> Trainer:
    """A new run, made by the first process; the others open what it made."""
    from recoseg.train.processes import by_first, from_first

    trainer = by_first(lambda: begun(config, out))
    path = from_first(str(trainer.folder.path) if trainer else "")
    return trainer or resumed(config, path)


def begun(config: RunConfig, out: str | None) -> Trainer:
    """A new run; or the one that is there, where torchrun gives the same command again to go on with it."""
    from recoseg.cli.terminal import new_console, progress_of
    from recoseg.config import RunConfig
    from recoseg.runs.run_folder import RunFolder
    from recoseg.runs.start import new_run
    from recoseg.train.processes import by_torchrun

    if by_torchrun() and out is None:
        raise UserError("give --out RUN with torchrun: processes that it starts anew must find their run")
    path = Path(out) if out else _next_run_path()
    if by_torchrun() and RunFolder(path).is_run():
        return resumed(config, str(path))
    if config.split.file is not None or config.split == RunConfig().split:
        return new_run(config, path)
    with progress_of(new_console(stderr=True), doing="reading labels") as progress:  # a split is drawn
        return new_run(config, path, progress=progress)


def _next_run_path(parent: Path = Path("runs")) -> Path:
    """runs/001, runs/002, ...: the first number after those that exist."""
    numbers = [int(path.name) for path in parent.glob("[0-9]*") if path.name.isdecimal()]
    return parent / f"{max(numbers, default=0) + 1:03d}"
