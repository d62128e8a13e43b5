"""See it work: train three methods on drawn street scenes and compare them on one page."""

from __future__ import annotations

import argparse
from pathlib import Path

TAKES_SETTINGS = True
KEEPS_MEMORY = True
SAVES_MEMORY = "smaller steps need less: --train.labelled_per_step 2, --augment.crop 64x64"

_AVERAGE = "0.97"
_SUPERVISED = ["--method", "supervised", "--method.average", _AVERAGE, "--method.warm_up", "fast"]
_TEACHER = [
    "--method", "mean_teacher", "--method.mix", "classmix", "--method.student_pass", "together",
    "--method.decay", _AVERAGE, "--method.warm_up", "fast", "--method.pixel_above", "0.9",
]  # fmt: skip
_CONTRAST = [
    "--contrast", "reco", "--contrast.num_queries", "128", "--contrast.num_keys", "256",
    "--contrast.feature_channels", "128",
]  # fmt: skip
_COMPARED = {"supervised": _SUPERVISED, "ClassMix": _TEACHER, "ClassMix + ReCo": [*_TEACHER, *_CONTRAST]}
"""Names and settings: the same labelled pixels, steps and labelled crops a step for all of them."""


EXAMPLES = (
    "recoseg demo",
    "recoseg demo --train.seed 1 --out runs/another",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "recoseg demo [--out FOLDER] [settings]"
    parser.add_argument(
        "--out", metavar="FOLDER", help="the folder to make (default: runs/demo, runs/demo-2, ...)"
    )
    parser.epilog = "The settings are those of the config 'demo': recoseg train --help explains them."


def run(arguments: argparse.Namespace) -> int:
    import torch

    from recoseg import config as configs
    from recoseg.cli.run_table import print_run_table
    from recoseg.cli.terminal import new_console, told_progress
    from recoseg.runs.pages import write_report
    from recoseg.runs.start import new_run

    console = new_console()
    # Crops of 64x64 are too small for more threads, and so scores do not depend on the number of cores.
    torch.set_num_threads(1)
    out = Path(arguments.out) if arguments.out else free_path(Path("runs/demo"))
    runs = []
    for number, (name, words) in enumerate(_COMPARED.items(), 1):
        console.print(f"{number} of {len(_COMPARED)}: {name}", style="bold")
        trainer = new_run(configs.load("demo", [*words, *arguments.settings]), out / name)
        trainer.run(console)
        runs.append(trainer.folder.path)
    page = write_report(
        runs, out / "index.html", title="recoseg demo", progress_of=told_progress(stderr=False), trust=True
    )
    print_run_table(runs, console, last="differences")
    console.print(f"done; open the page: {page.resolve().as_uri()}", soft_wrap=True)
    return 0


def free_path(wanted: Path) -> Path:
    """`wanted`, or the first of wanted-2, wanted-3, ... that does not exist."""
    number, path = 1, wanted
    while path.exists():
        number += 1
        path = wanted.with_name(f"{wanted.name}-{number}")
    return path
