"""A command that has commands of its own: a table of modules, whose docstrings are their help."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator, Mapping
from textwrap import fill
from types import ModuleType


def added_kinds(
    parser: argparse.ArgumentParser, table: Mapping[str, str], *, metavar: str
) -> Iterator[tuple[str, ModuleType, argparse.ArgumentParser]]:
    """The name, module and new parser of each kind; its arguments are still to be added."""
    kinds = parser.add_subparsers(metavar=metavar, required=True, parser_class=type(parser))
    for name, path in table.items():
        module = importlib.import_module(path)
        text = (module.__doc__ or "").strip()
        kind = kinds.add_parser(
            name,
            help=text.splitlines()[0].replace("%", "%%"),
            description="\n\n".join(fill(part, 78) for part in text.split("\n\n")),
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        yield name, module, kind
