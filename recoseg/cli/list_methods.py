"""List the methods of training: what they do, what they need and what they cost.

All learn from labels; most need unlabelled images too, and some train a
second network. Time and memory are those of a run in the profile small, in
runs of Supervised with as many labelled crops; with + ReCo, the regional
contrast is on top, and mean_teacher is ClassMix. docs/choosing.md says which
method to take for what, and RESULTS.md what they score.
"""

from __future__ import annotations

import argparse
import textwrap

_ROWS = {"mean_teacher": "classmix"}
"""A method -> the row of tables that has its default settings, where that is not called after it."""

LABELS_SUFFICE = ("supervised", "probe")
SECOND_NETWORK = ("gct", "ecs", "dmt")
"""As the classes of methods say; these import torch, which a table need not wait for."""

EXAMPLES = ("recoseg methods", "recoseg train --data my_images --method vat")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (__doc__ or "").partition("\n\n")[2].strip()


def run(arguments: argparse.Namespace) -> int:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from recoseg.cli.terminal import new_console
    from recoseg.config.settings import KINDS
    from recoseg.experiments.tables.results import measured_costs
    from recoseg.text import DASH

    costs = measured_costs().rows
    unit = costs["supervised"]

    def against_supervised(row: str) -> tuple[str, str]:
        cost = costs[row]
        return f"{cost.minutes / unit.minutes:.1f}", f"{cost.gigabytes / unit.gigabytes:.1f}"

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("method", no_wrap=True)
    table.add_column("what it does")
    for name in ("needs", "time", "memory"):
        table.add_column(name, justify="right" if name != "needs" else "left", no_wrap=True)
    for name, settings in KINDS["method"].items():
        if name == "factory":
            continue
        if name == "probe":  # without steps there is no contrast either
            table.add_row(name, settings.__doc__, "labels", "0.0", DASH)
            continue
        row = _ROWS.get(name, name.replace("_", "-"))
        needs = "labels" if name in LABELS_SUFFICE else "unlabelled"
        needs += "\n2 networks" if name in SECOND_NETWORK else ""
        table.add_row(name, settings.__doc__, needs, *against_supervised(row))
        table.add_row("", "", "+ ReCo", *against_supervised(f"reco-{row}"), style="dim")
    console = new_console()
    console.print(table)
    console.print(textwrap.fill((__doc__ or "").partition("\n\n")[2].strip(), 78))
    return 0
