"""Look at a folder of images and at this machine, and write a config that suits both.

DATA holds images/ and labels/ (recoseg check tells what is wrong there). The config,
with a comment for each choice, becomes DATA/recoseg.yaml, which recoseg train --data
DATA takes by itself. A few steps are timed, to say how long it will take.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from recoseg.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from recoseg.runs.suggestion import FolderFacts

KEEPS_MEMORY = True
EXAMPLES = ("recoseg init my_images", "recoseg init my_images --minutes 30 --yes")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", metavar="DATA", help="the folder that holds images/ and labels/")
    parser.add_argument("--minutes", type=float, metavar="M", help="as many iterations as fit into that time")
    parser.add_argument("--yes", action="store_true", help="write over a config that is there, unasked")
    parser.epilog = fill((__doc__ or "").partition("\n\n")[2].strip(), 78)


def run(arguments: argparse.Namespace) -> int:
    from recoseg.cli.arguments import open_dataset
    from recoseg.cli.terminal import new_console, progress_of
    from recoseg.config.load import FOLDER_CONFIG
    from recoseg.files import write_whole
    from recoseg.runs.suggestion import (
        LARGE,
        MachineFacts,
        StepTimes,
        look_at,
        measure_probe,
        schedule,
        suggested_yaml,
        time_steps,
        told,
    )
    from recoseg.text import printable

    if arguments.minutes is not None and not 0 < arguments.minutes < 1e5:
        raise UserError(f"--minutes {arguments.minutes:g}: needs a number above 0")
    root, console = Path(arguments.data), new_console()
    machine = MachineFacts.here()  # first: what follows keeps it busy
    target = root / FOLDER_CONFIG
    if target.exists() and not arguments.yes and not _agreed(target):
        console.print("nothing is written")
        return 1
    dataset = open_dataset("folder", arguments.data)
    with progress_of(new_console(stderr=True), doing="reading labels") as progress:
        facts = look_at(dataset, root.absolute(), progress=progress)
    for line in told(facts, machine):
        console.print(printable(line), soft_wrap=True)
    _require_enough(facts)
    if facts.longest > LARGE:
        _tell_to_shrink(facts, root, console)
        return 0
    with progress_of(new_console(stderr=True), doing="reading features", did="features read:") as progress:
        probe = measure_probe(dataset, facts, progress=progress) if machine.has_weights else None
    if probe is not None:
        console.print(f"probe:   a linear classifier of frozen features has {probe}", soft_wrap=True)
        if probe.have_no_up:
            console.print("note:    these images have no up: training flips and turns them")
        if probe.enlarge > 1:
            console.print(
                f"note:    the network enlarges images {probe.enlarge:g} times: the folds score higher"
            )
    console.print("timing a few steps ...")
    times = time_steps(suggested_yaml(facts, machine, schedule(StepTimes()), probe))
    found = schedule(times, minutes=arguments.minutes)
    write_whole(target, suggested_yaml(facts, machine, found, probe))
    length = f"{found.iterations} iterations, about {max(1, round(found.minutes))} min"
    console.print(printable(f"config:  {target}, {length}"))
    console.print(printable(f"train:   recoseg train --data {shlex.quote(str(root))}"), soft_wrap=True)
    return 0


def _require_enough(facts: FolderFacts) -> None:
    if facts.num_labelled == 0:
        raise UserError("no image is labelled yet: put masks into labels/, or click some with recoseg label")
    if sum(share > 0 for share in facts.shares.values()) < 2:
        raise UserError("the labels show one class only: at least two are needed, background may be one")


def _tell_to_shrink(facts: FolderFacts, root: Path, console: Console) -> None:
    """Large photographs are brought to a size at which a crop shows something, once."""
    from recoseg.runs.suggestion import LARGE
    from recoseg.text import printable

    smaller = root.with_name(f"{root.absolute().name}-small")
    data, small = shlex.quote(str(root)), shlex.quote(str(smaller))
    lines = (
        f"The images are large: crops of them would show little. Bring them to {LARGE // 2} pixels first:",
        f"  recoseg prepare folder {data} {small} --scale {LARGE / 2 / facts.longest:.3g}",
        f"  recoseg init {small}",
    )
    for line in lines:
        console.print(printable(line), soft_wrap=True)


def _agreed(target: Path) -> bool:
    if not sys.stdin.isatty():
        raise UserError(f"{target} is there already: give --yes to write over it")
    return input(f"{target} is there already. Write over it? [y/N] ").strip().lower() in ("y", "yes")
