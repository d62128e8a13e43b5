"""Let your shell complete recoseg's commands and options with the Tab key."""

from __future__ import annotations

import argparse
from typing import Any

from recoseg.errors import UserError

EXAMPLES = (
    "recoseg completion bash >> ~/.bashrc",
    "recoseg completion zsh > ~/.zfunc/_recoseg",
    "recoseg completion fish > ~/.config/fish/completions/recoseg.fish",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=("bash", "fish", "zsh"), help="bash, fish or zsh")


def run(arguments: argparse.Namespace) -> int:
    try:
        import shtab
    except ModuleNotFoundError:
        raise UserError("recoseg completion needs shtab: pip install 'recoseg[completion]'") from None
    from recoseg.cli.main import build_parser

    parser = build_parser()
    _complete_files(parser, shtab.FILE)
    print(shtab.complete(parser, shell=arguments.shell))
    return 0


def _complete_files(parser: argparse.ArgumentParser, file: dict[str, Any]) -> None:
    """Mark every value without a list of choices as a file: shtab offers nothing for unmarked ones."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete_files(command, file)
        elif action.choices is None and action.nargs != 0:
            action.complete = file  # type: ignore[attr-defined]
