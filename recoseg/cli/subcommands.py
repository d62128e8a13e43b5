"""A command that has commands of its own: a table of functions, whose docstrings are their help."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import cleandoc
from textwrap import fill
from typing import Any, TypeVar


def _none(parser: argparse.ArgumentParser) -> None:
    """No arguments, or none besides those that all have."""


@dataclass(frozen=True)
class Subcommand:
    """What does it, whose docstring is its help, and what adds its arguments to a parser."""

    run: Callable[..., Any]
    add_arguments: Callable[[argparse.ArgumentParser], None] = _none
    examples: Sequence[str] = ()


def with_examples(epilog: str | None, examples: Sequence[str]) -> str:
    """What stands at the end of a command's help."""
    lines = "\n".join(["examples:", *(f"  {example}" for example in examples)])
    return f"{epilog}\n\n{lines}" if epilog else lines


_Kind = TypeVar("_Kind", bound=Subcommand)


def added_subcommands(
    parser: argparse.ArgumentParser, table: Mapping[str, _Kind], *, metavar: str
) -> Iterator[tuple[str, _Kind, argparse.ArgumentParser]]:
    """The name, entry and new parser of each; its own arguments are still to be added."""
    subparsers = parser.add_subparsers(metavar=metavar, required=True, parser_class=type(parser))
    for name, subcommand in table.items():
        text = cleandoc(subcommand.run.__doc__ or "")
        subparser = subparsers.add_parser(
            name,
            help=text.splitlines()[0].replace("%", "%%"),
            description="\n\n".join(fill(part, 78) for part in text.split("\n\n")),
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            epilog=with_examples(None, subcommand.examples),
        )
        yield name, subcommand, subparser
