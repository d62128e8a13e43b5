"""Run the paper's tables: grids of runs, and their scores beside the paper's.

recoseg experiments COMMAND --help tells more of each.
"""

from __future__ import annotations

import argparse
import importlib
from textwrap import fill

KINDS = {
    "list": "recoseg.cli.experiment_kinds.list",
    "show": "recoseg.cli.experiment_kinds.show",
    "run": "recoseg.cli.experiment_kinds.run",
    "table": "recoseg.cli.experiment_kinds.table",
}
"""name -> module: its docstring is its help, and it has `add_arguments(parser)` and `run(arguments)`."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=type(parser))
    for name, path in KINDS.items():
        module = importlib.import_module(path)
        text = (module.__doc__ or "").strip()
        kind = kinds.add_parser(
            name,
            help=text.splitlines()[0].replace("%", "%%"),
            description="\n\n".join(fill(part, 78) for part in text.split("\n\n")),
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(kind)
        kind.set_defaults(kind_run=module.run)


def run(arguments: argparse.Namespace) -> int:
    code: int = arguments.kind_run(arguments)
    return code
