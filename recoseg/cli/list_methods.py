"""List the methods of training: what they do, what they need and what they cost.

All learn from labels; most need unlabelled images too, and some train a
second network. Time and memory are those of a step, in steps of Supervised
with the same labelled crops; with + ReCo, the regional contrast is on top.
docs/choosing.md says which method to take for what, and RESULTS.md what they
score.
"""

from __future__ import annotations

import argparse
import textwrap
from typing import get_type_hints

EXAMPLES = ("recoseg methods", "recoseg train --data my_images --method vat")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (__doc__ or "").partition("\n\n")[2].strip()


def run(arguments: argparse.Namespace) -> int:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from recoseg.cli.terminal import new_console
    from recoseg.config.parse import members
    from recoseg.config.settings import RunConfig
    from recoseg.methods import METHODS
    from recoseg.methods.costs import step_costs

    costs = step_costs()
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("method", no_wrap=True)
    table.add_column("what it does")
    for name in ("needs", "time", "memory"):
        table.add_column(name, justify="right" if name != "needs" else "left", no_wrap=True)
    for name, settings in members(get_type_hints(RunConfig)["method"]).items():
        if name not in METHODS:
            continue
        alone, with_reco = costs[name], costs[f"reco-{name}"]
        needs = "unlabelled" if METHODS[name].needs_unlabelled else "labels"
        needs += "\n2 networks" if METHODS[name].trains_second_network else ""
        table.add_row(name, settings.__doc__, needs, f"{alone['time']:.1f}", f"{alone['memory']:.1f}")
        table.add_row("", "", "+ ReCo", f"{with_reco['time']:.1f}", f"{with_reco['memory']:.1f}", style="dim")
    console = new_console()
    console.print(table)
    console.print(textwrap.fill((__doc__ or "").partition("\n\n")[2].strip(), 78))
    return 0
