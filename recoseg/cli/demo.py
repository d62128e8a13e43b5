"""See it work: train three methods on drawn street scenes and compare them on one page."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recoseg.text import percent, printable

if TYPE_CHECKING:
    from concurrent.futures import Future

    from rich.console import Console

    from recoseg.progress import ProgressBar
    from recoseg.training.run_folder import RunFolder

TAKES_SETTINGS = True
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
"""Names and settings, from the quickest to the slowest: the same labelled pixels, steps and crops."""


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
    from recoseg import config as configs
    from recoseg.cli.run_table import print_run_table
    from recoseg.cli.terminal import new_console, told_progress
    from recoseg.runs.pages import write_report

    console = new_console()
    for words in _COMPARED.values():
        iterations = configs.load("demo", [*words, *arguments.settings]).train.iterations
    out = Path(arguments.out) if arguments.out else free_path(Path("runs/demo"))
    out.mkdir(parents=True, exist_ok=True)
    _train(out, arguments.settings, iterations, console)
    runs = [out / name for name in _COMPARED]
    page = write_report(
        runs, out / "index.html", title="recoseg demo", progress_of=told_progress(stderr=False), trust=True
    )
    print_run_table(runs, console, last="differences")
    console.print(f"done; open the page: {page.resolve().as_uri()}", soft_wrap=True)
    return 0


def _train(out: Path, settings: Sequence[str], iterations: int, console: Console) -> None:
    """All methods, each in a process with one thread, as many at a time as there are cores.

    With one thread each, scores do not depend on the number of cores.
    """
    from concurrent.futures import wait

    from recoseg.errors import UserError
    from recoseg.experiments.running.execute import CellStoppedError, trouble
    from recoseg.experiments.running.workers import LocalWorkers, num_cores
    from recoseg.progress import ProgressBar
    from recoseg.training.early_end import Interrupted, StopRequest
    from recoseg.training.run_folder import RunFolder

    workers = LocalWorkers(min(num_cores(), len(_COMPARED)), threads=1)
    running: dict[str, Future[int]] = {}
    for name, words in reversed(_COMPARED.items()):  # the slowest first
        command = ["train", "--config", "demo", *words, *settings, "--out", str(out / name), "--no-page"]
        running[name] = workers.pool.submit(workers.start, command, out / f"{name}.log", 0)
    left = set(running.values())
    folders, said = {name: RunFolder(out / name) for name in _COMPARED}, dict[str, str]()
    try:
        with StopRequest() as stop, ProgressBar(console, doing="training", unit="iterations") as bar:
            while left:
                ended, left = wait(left, timeout=0.5)
                _show_runs(folders, iterations, bar, said)
                failed = any(future.exception() or future.result() for future in ended)
                if (stop.requested or failed) and not workers.stopping:
                    workers.stop()  # lets the others save their states
    finally:
        if left:
            workers.stop()
        workers.pool.shutdown(wait=True)
    for name, future in running.items():
        if not isinstance(future.exception(), CellStoppedError) and (code := future.result()):
            raise UserError(f"{name}: {trouble(code, out / f'{name}.log')}")
    if stop.requested:
        raise Interrupted("stopped, with states saved; recoseg train --resume RUN goes on with a run of it")


def _show_runs(
    folders: Mapping[str, RunFolder], iterations: int, bar: ProgressBar, said: dict[str, str]
) -> None:
    """A bar over all runs, and a line for each that begins or ends; `said` is its last line by name."""
    done = 0
    for name, folder in folders.items():
        if not folder.is_run():
            continue
        done += max((line["iteration"] for line in folder.read_losses()), default=0)
        scored = folder.read_metrics()
        is_done = bool(scored) and scored[-1]["iteration"] == iterations
        state = f"trained; mean IoU {percent(scored[-1]['mean_iou'], sign=' %')}" if is_done else "is trained"
        if said.get(name) != state:
            said[name] = state
            bar.console.print(printable(f"{name}: {state}"), soft_wrap=True)
    bar.show(done, len(folders) * iterations)


def free_path(wanted: Path) -> Path:
    """`wanted`, or the first of wanted-2, wanted-3, ... that does not exist."""
    number, path = 1, wanted
    while path.exists():
        number += 1
        path = wanted.with_name(f"{wanted.name}-{number}")
    return path
