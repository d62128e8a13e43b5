"""Run the paper's tables: grids of runs, and their scores beside the paper's.

recoseg experiments COMMAND --help tells more of each.
"""

from __future__ import annotations

import argparse

from recoseg.cli.kinds import added_kinds

KINDS = {
    "list": "recoseg.cli.experiment_kinds.list",
    "show": "recoseg.cli.experiment_kinds.show",
    "run": "recoseg.cli.experiment_kinds.run",
    "table": "recoseg.cli.experiment_kinds.table",
}
"""name -> module: its docstring is its help, and it has `add_arguments(parser)` and `run(arguments)`."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    for _, module, kind in added_kinds(parser, KINDS, metavar="COMMAND"):
        module.add_arguments(kind)
        kind.set_defaults(kind_run=module.run)


def run(arguments: argparse.Namespace) -> int:
    code: int = arguments.kind_run(arguments)
    return code
