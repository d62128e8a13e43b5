"""Let your shell complete recoseg's commands, options and settings with the Tab key."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Literal, get_args, get_origin, get_type_hints

_SCRIPTS = {
    "bash": """\
_recoseg() {
    local IFS=$'\\n'
    local words="$(printf '%s\\n' "${COMP_WORDS[@]:1:COMP_CWORD}" .)"
    COMPREPLY=($(recoseg completion --words="$words" 2>/dev/null))
    [[ ${#COMPREPLY[@]} -eq 0 ]] && compopt -o default
}
complete -F _recoseg recoseg
""",
    "zsh": """\
#compdef recoseg
_recoseg() {
    local -a found
    found=("${(@f)$(recoseg completion --words="$(printf '%s\\n' "${(@)words[2,CURRENT]}" .)" 2>/dev/null)}")
    if [[ -n "${found[1]}" ]]; then compadd -- "${found[@]}"; else _files; fi
}
compdef _recoseg recoseg
""",
    "fish": """\
function __recoseg
    set -l words (commandline -opc) (commandline -ct)
    recoseg completion --words=(printf '%s\\n' $words[2..-1] . | string collect) 2>/dev/null
end
complete -c recoseg -a '(__recoseg)'
""",
}
EXAMPLES = (
    "recoseg completion bash >> ~/.bashrc",
    "recoseg completion zsh >> ~/.zshrc",
    "recoseg completion fish > ~/.config/fish/completions/recoseg.fish",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "recoseg completion SHELL"
    parser.add_argument(
        "shell", metavar="SHELL", nargs="?", choices=sorted(_SCRIPTS), help="bash, fish or zsh"
    )
    parser.add_argument("--words", help=argparse.SUPPRESS)  # of the scripts: a line each, and a dot


def run(arguments: argparse.Namespace) -> int:
    if arguments.words is not None:
        words = arguments.words.split("\n")[:-1]
        sys.stdout.writelines(f"{word}\n" for word in completions(words))
        return 0
    if arguments.shell is None:
        from recoseg.errors import UsageError

        raise UsageError("which shell? recoseg completion bash, fish or zsh")
    print(_SCRIPTS[arguments.shell], end="")
    return 0


def completions(words: Sequence[str]) -> list[str]:
    """What the last of the words after `recoseg` may become; nothing where a file is wanted."""
    from recoseg.cli.main import COMMANDS, build_parser

    *before, begun = words or [""]
    if not before:
        found = [*COMMANDS, "--help", "--version"]
    else:
        parser = _command_parser(build_parser(), before)
        found = _values(parser, before[-1]) or [*_options(parser), *_subcommands(parser)]
        found = [] if _wants_file(parser, before[-1], begun) else found
    return [word for word in found if word.startswith(begun)]


def _command_parser(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.ArgumentParser:
    """That of the command, or of the command's command, that the words name."""
    for word in words:
        parser = _subcommands(parser).get(word, parser)
    return parser


def _subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    tables = (action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return dict(next(tables, {}) or {})


def _options(parser: argparse.ArgumentParser) -> list[str]:
    own = [name for action in parser._actions for name in action.option_strings if name.startswith("--")]
    if not parser.get_default("takes_settings"):
        return own
    from recoseg.config.parse import members, setting_names
    from recoseg.config.settings import RunConfig

    sections = [name for name, kind in get_type_hints(RunConfig).items() if members(kind)]
    return [*own, *(f"--{name}" for name in dict.fromkeys([*sections, *setting_names(RunConfig)]))]


def _values(parser: argparse.ArgumentParser, option: str) -> list[str]:
    """The words that may follow an option or a setting, where they are known."""
    for action in parser._actions:
        if option in action.option_strings and action.choices:
            return [str(choice) for choice in action.choices]
    if option == "--config":
        from recoseg.config.load import SHIPPED

        return sorted({path.stem for folder in SHIPPED for path in folder.glob("*.yaml")})
    return _setting_values(option) if parser.get_default("takes_settings") else []


def _setting_values(option: str) -> list[str]:
    from recoseg.config.help_text import SECTIONS
    from recoseg.config.parse import members
    from recoseg.config.settings import RunConfig

    if option in ("--help", "-h"):
        return [*SECTIONS, "all"]
    section, _, name = option.removeprefix("--").partition(".")
    kind = get_type_hints(RunConfig).get(section)
    options = members(kind)
    if not name or name == "name":
        return list(options)
    hints = [get_type_hints(one).get(name) for one in (options.values() or [kind])] if kind else []
    return list(dict.fromkeys(word for hint in hints for word in _choices(hint)))


def _choices(hint: object) -> list[str]:
    if get_origin(hint) is Literal:
        return [str(choice) for choice in get_args(hint)]
    return ["true", "false"] if hint is bool else []


def _wants_file(parser: argparse.ArgumentParser, option: str, begun: str) -> bool:
    """After an option whose value is not known, and where no option is begun and others are not listed."""
    takes_value = any(option in action.option_strings and action.nargs != 0 for action in parser._actions)
    known = _values(parser, option)
    if known:
        return False
    is_setting = option.startswith("--") and "." in option
    return takes_value or is_setting or not (begun.startswith("-") or _subcommands(parser))
