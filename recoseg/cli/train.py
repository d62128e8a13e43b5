"""Train a network and write a run folder with its scores and its page."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path

from recoseg.errors import UsageError, UserError

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
  --contrast reco          regional contrast on top; --contrast none drops it,
                           and so does a --method other than the config's
  --train.iterations N     how long
  --train.labelled_per_step N, --augment.crop HxW
                           how many crops a step has, and how large they are
  --model.encoder NAME, --model.pretrained imagenet
                           the network, and published weights to start from
  --optimiser.lr RATE      how fast it learns
  --train.seed N           everything random follows from it

Any other setting of a config is --section.name VALUE too:
  recoseg train --help SECTION, one of {sections};
  recoseg train --help SECTION.NAME, such as model.encoder;
  recoseg train --help all"""


EXAMPLES = (
    "recoseg train --config own_images --data my_images --out runs/first",
    "recoseg train --config own_images --data my_images --method mean_teacher \\\n"
    "      --contrast reco --out runs/second",
    "recoseg train --resume runs/first",
    "recoseg train --data my_images --folds 5 --out runs/folds",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from recoseg.config.help_text import SECTIONS
    from recoseg.config.settings import KINDS

    parser.usage = "recoseg train [--config FILE] [--data FOLDER] [--out RUN] [settings]"
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="a YAML file of settings, or the name of a shipped one (default: for a "
        "folder of images own_images, else the paper's)",
    )
    parser.add_argument("--out", metavar="RUN", help="the run folder to make (default: runs/ and a number)")
    parser.add_argument("--resume", metavar="RUN", help="go on with a run that ended early")
    parser.add_argument(
        "--seeds",
        metavar="N",
        type=int,
        nargs="+",
        help="one run a seed, in OUT/seed-N, with mean and range; the same command goes on where it ended",
    )
    parser.add_argument(
        "--folds",
        metavar="K",
        type=int,
        help="K runs, in OUT/fold-1 to OUT/fold-K, that validate every labelled image of a folder once",
    )
    parser.add_argument(
        "--no-page", action="store_true", help="leave out the page, which recoseg report writes at any time"
    )
    methods = textwrap.wrap(", ".join(KINDS["method"]), 52)
    parser.epilog = _SETTINGS.format(
        methods=f"\n{27 * ' '}".join(methods),
        sections=textwrap.fill(", ".join(SECTIONS), 44, subsequent_indent="    "),
    )


def run(arguments: argparse.Namespace) -> int:
    from recoseg.cli.terminal import new_console, told_progress
    from recoseg.config.load import load, load_for
    from recoseg.training.run_folder import RunFolder

    if arguments.seeds or arguments.folds is not None:
        return _repeat(arguments)
    folder = None
    if arguments.resume:
        if arguments.config or arguments.out:
            raise UserError("--resume takes the run's own config: leave out --config and --out")
        folder = RunFolder.open(Path(arguments.resume))
    words = arguments.settings
    config = load(folder.config, words) if folder else load_for(arguments.config, words)

    from recoseg.runs.start import run_to_end  # after all that may be misspelt: it imports torch

    run_to_end(
        config,
        Path(arguments.out) if arguments.out else None,
        resume=folder,
        console=new_console(),
        progress=told_progress(stderr=False),
        page=not arguments.no_page,
    )
    return 0


def _repeat(arguments: argparse.Namespace) -> int:
    """Several runs that differ in their seed, or in the images that validate them."""
    from recoseg.cli.run_table import print_run_table
    from recoseg.cli.terminal import new_console, told_progress
    from recoseg.runs.repeats import run_all, with_folds, with_seeds

    option = "--seeds" if arguments.seeds else "--folds"
    if arguments.seeds and arguments.folds is not None:
        raise UsageError("--seeds and --folds do not go together: give one of them")
    if arguments.resume:
        raise UsageError(
            f"--resume is for one run: the same command with {option} and --out goes on by itself"
        )
    words = arguments.settings
    taken = ("--train.seed",) if arguments.seeds else ("--data.folds", "--data.fold", "--data.val_share")
    for word in words:
        name = word.partition("=")[0].replace("-", "_")
        if name.replace("__", "--", 1) in taken:
            raise UsageError(f"{word.partition('=')[0]} has no effect beside {option}: leave one of them out")
    configs = (
        with_seeds(arguments.config, words, list(dict.fromkeys(arguments.seeds)))
        if arguments.seeds
        else with_folds(arguments.config, words, arguments.folds)
    )
    console = new_console()
    folders = run_all(
        configs,
        Path(arguments.out) if arguments.out else None,
        console=console,
        progress=told_progress(stderr=False),
        page=not arguments.no_page,
    )
    last = "range" if arguments.seeds else "pooled"
    print_run_table([folder.path for folder in folders], console, last=last)
    return 0
