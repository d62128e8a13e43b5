"""Show how far runs are: a table of their progress, scores and speed.

Runs whose files cannot be read are named below it, with the reason; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recoseg.cli.main import tell_troubles
from recoseg.errors import UserError
from recoseg.text import printable

if TYPE_CHECKING:
    from recoseg.config import RunConfig
    from recoseg.training.run_folder import RunFolder

_HEADINGS = ("run", "state", "iterations", "mean IoU", "best", "loss", "left")


EXAMPLES = (
    "recoseg status runs",
    "recoseg status runs/first",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs", metavar="RUN", nargs="*", help="run folders, or folders of them (default: runs)"
    )


def run(arguments: argparse.Namespace) -> int:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from recoseg.cli.terminal import new_console

    folders = _find_runs([Path(name) for name in arguments.runs or ["runs"]])
    table = Table(*_HEADINGS, box=SIMPLE_HEAD, pad_edge=False)
    for column in table.columns[2:]:
        column.justify = "right"
    for column in table.columns:
        column.no_wrap = column.header not in ("run", "best")  # a path, and on what weights were chosen
    rows: list[tuple[str, ...]] = []
    troubles: list[UserError | OSError] = []
    for folder in folders:
        try:
            rows.append(status(folder))
        except UserError as error:
            told = str(error)
            troubles.append(error if str(folder.path) in told else UserError(f"{folder.path}: {told}"))
        except OSError as error:
            troubles.append(error)
    console = new_console()
    room = max(_SHORTEST_ROOM, console.width - _width_of_others(rows))
    table.columns[0].overflow, table.columns[0].min_width = "fold", _SHORTEST_ROOM
    for path, *others in rows:
        table.add_row(wrapped_path(path, room), *others)
    if rows:
        console.print(table)
    return tell_troubles(troubles)


_SHORTEST_ROOM = 20
_SPACE_BETWEEN, _EDGES = 3, 2


def _width_of_others(rows: Sequence[Sequence[str]]) -> int:
    """The letters of a line that all columns but the first take; what is in brackets may wrap."""
    columns = list(zip(_HEADINGS, *rows, strict=True))[1:]
    widths = [max(len(cell.partition(" on ")[0]) for cell in column) for column in columns]
    return sum(width + _SPACE_BETWEEN for width in widths) + _EDGES


def wrapped_path(path: str, width: int) -> str:
    """The path in lines of at most `width` letters that end after a slash, hyphen or the like."""
    lines = [""]
    for part in re.split(r"(?<=[/_. -])", path):
        if lines[-1] and len(lines[-1] + part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _find_runs(paths: list[Path]) -> list[RunFolder]:
    """The runs at and below the paths; a path without any is a mistake."""
    from recoseg.training.run_folder import RunFolder

    found: list[RunFolder] = []
    for path in paths:
        # Folders that cannot be listed are passed over, where glob would fall over some of them.
        parents = sorted(Path(place) for place, _, names in os.walk(path) if "config.yaml" in names)
        below = [parent for parent in parents if RunFolder(parent).split.is_file()]
        if not below:
            raise UserError(f"no runs at {path}: give run folders, or a folder that holds some")
        found += [RunFolder(folder) for folder in below if RunFolder(folder) not in found]
    return found


def status(folder: RunFolder) -> tuple[str, ...]:
    """One row of the table."""
    from recoseg.config import load
    from recoseg.text import DASH, clock, percent

    config = load(folder.config)
    total = config.train.iterations
    losses, metrics = folder.read_losses(), folder.read_metrics()
    done = max((line["iteration"] for line in (*losses, *metrics)), default=0)
    in_use = folder.is_in_use()
    state = "running" if in_use else "done" if metrics and metrics[-1]["iteration"] == total else "stopped"
    chosen = [line["selection"] for line in metrics if line.get("selection")]
    best = max((line["mean_iou"] for line in chosen if line["mean_iou"] is not None), default=None)
    return (
        printable(str(folder.path)),
        state,
        f"{done}/{total}",
        percent(metrics[-1]["mean_iou"]) if metrics else DASH,
        f"{percent(best)} on {chosen[-1]['on']}" if best is not None else DASH,
        f"{losses[-1]['loss']:.3f}" if losses and losses[-1]["loss"] is not None else DASH,
        clock(seconds_left(losses, total, images_by(config))) if in_use and len(losses) > 1 else DASH,
    )


def images_by(config: RunConfig) -> Callable[[int], int]:
    """So many iterations -> images of them: a supervised start has labelled ones alone."""
    labelled, start = config.train.labelled_per_step, getattr(config.method, "supervised_start", None)
    if start is None:
        return lambda iteration: labelled * iteration
    unlabelled = config.train.unlabelled_per_step or labelled
    return lambda iteration: labelled * iteration + unlabelled * max(0, iteration - start)


def seconds_left(
    losses: list[dict[str, float]], total: int, images_by: Callable[[int], int] = lambda iteration: iteration
) -> float:
    """From the pace, in images, of the last lines that one process wrote."""
    last = first = losses[-1]
    for line in reversed(losses[-20:-1]):
        if line["seconds"] > first["seconds"]:  # its clock began anew: another process wrote what is before
            break
        first = line
    done, begun = images_by(int(last["iteration"])), images_by(int(first["iteration"]))
    return (images_by(total) - done) * (last["seconds"] - first["seconds"]) / max(done - begun, 1)
