"""List the grids, with the table of the paper that each is of."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None."""


def run(arguments: argparse.Namespace) -> int:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from recoseg.cli.terminal import new_console
    from recoseg.experiments.grids import GRIDS
    from recoseg.experiments.paper_figures import tables

    table = Table("grid", "runs", "what it compares", "in the paper", box=SIMPLE_HEAD)
    table.columns[0].no_wrap = True
    table.columns[1].justify = "right"
    for name, grid in GRIDS.items():
        title = tables()[grid.table]["title"] if grid.table else ""
        where = title.partition(",")[0].partition(" (")[0]  # its name alone: there is little room
        table.add_row(name, str(len(grid.pairs) * len(grid.seeds)), grid.title, where)
    new_console().print(table)
    print("recoseg experiments show NAME tells more of one.")
    return 0
