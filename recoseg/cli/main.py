"""The command line: a table of commands, one small module each."""

from __future__ import annotations

import argparse
import codecs
import errno
import importlib
import io
import os
import sys
import textwrap
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from recoseg.cli.subcommands import with_examples
from recoseg.errors import UsageError, UserError, is_shortage
from recoseg.kept_memory import keep_freed_memory
from recoseg.text import did_you_mean, is_text, printable, shortened

COMMANDS = {
    "demo": "recoseg.cli.demo",
    "init": "recoseg.cli.init",
    "train": "recoseg.cli.train",
    "status": "recoseg.cli.status",
    "report": "recoseg.cli.report",
    "evaluate": "recoseg.cli.evaluate",
    "predict": "recoseg.cli.predict",
    "picture": "recoseg.cli.picture",
    "export": "recoseg.cli.export",
    "push": "recoseg.cli.push",
    "check": "recoseg.cli.check",
    "import": "recoseg.cli.import_labels",
    "export-labels": "recoseg.cli.export_labels",
    "prepare": "recoseg.cli.prepare",
    "split": "recoseg.cli.split",
    "label": "recoseg.cli.label",
    "describe": "recoseg.cli.describe",
    "methods": "recoseg.cli.list_methods",
    "experiments": "recoseg.cli.experiments",
    "completion": "recoseg.cli.completion",
}
"""name -> module: its docstring's first line is its help, and it has `add_arguments(parser)`,
`run(arguments) -> exit code`, and `EXAMPLES`, command lines for the end of its help. With `TAKES_SETTINGS` it
takes settings of a run too; with `KEEPS_MEMORY` it does one step after another, which need the same memory;
`SAVES_MEMORY` says what helps where that runs out.

These modules import nothing heavy at their top, so that help answers at once.
"""

_USER_ERRNOS = {
    errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOENT, errno.ENOTDIR,
    errno.EISDIR, errno.ENAMETOOLONG, errno.EMFILE, errno.EFBIG, errno.EIO, errno.ELOOP, errno.ENXIO,
    errno.EEXIST,
}  # fmt: skip
"""Troubles with files that a user can mend: no permission, no space, no such folder, links in a circle."""


class _Parser(argparse.ArgumentParser):
    """argparse, with our one-line errors and no abbreviations of options."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{shortened(message, 300)}; see {self.prog} --help")


class _HelpAction(argparse.Action):
    """`--help`; of a command with settings also `--help SECTION`, `--help SECTION.NAME` and `--help all`."""

    def __init__(self, option_strings: Sequence[str], dest: str, **others: Any) -> None:
        super().__init__(option_strings, dest, nargs="?", default=argparse.SUPPRESS, metavar="SECTION",
                         help="show this, or the settings of a section, or one setting, or all")  # fmt: skip

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        from recoseg.config.help_text import SECTIONS, describe_setting, describe_settings

        if values is None:
            parser.print_help()
        elif values == "all":
            print(describe_settings())
        elif values in SECTIONS:
            print(describe_settings([values]))
        elif "." in values:
            print(describe_setting(values))
        else:
            known = did_you_mean(values, [*SECTIONS, "all"])
            raise UsageError(f"--help: unknown section {shortened(repr(values))}{known}")
        parser.exit()


class _Help(argparse.HelpFormatter):
    """argparse's own, with room for the names of commands: it measures them before it indents them."""

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        self._action_max_length += self._indent_increment if action.nargs == argparse.PARSER else 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code: 0 done, 1 failed, 2 words we do not know, 130 interrupted."""
    words = list(sys.argv[1:] if argv is None else argv)
    _replace_closed_streams()
    _adapt_to_terminal()
    code = _outcome(words, own_process=argv is None)
    if argv is None and os.environ.get("WORLD_SIZE", "1") != "1":
        _leave(code)
    return code


def _leave(code: int) -> NoReturn:
    """End one of several processes at once, without taking Python down first.

    A thread of gloo may still be letting go of a tensor. Python would stop it there, and C++ would abort the
    process: for torchrun, a run that failed.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # one that nobody reads is closed
            stream.flush()
    os._exit(code)


def _outcome(words: list[str], *, own_process: bool) -> int:
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    try:
        code = _dispatch(words, own_process=own_process)
        sys.stdout.flush()  # now, not when Python ends, where a disk that is full would be a traceback
        return code
    except KeyboardInterrupt as interrupt:
        print(f"\nrecoseg: {str(interrupt) or 'interrupted'}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output has gone: nothing to say, nobody to say it to
        return 1
    except (UserError, OSError, RuntimeError, MemoryError) as error:
        if isinstance(error, OSError) and error.filename is None and _output_is_broken():
            error.filename = "output"
        told = one_line(error, words)
        if debug or told is None:
            raise
        print(f"recoseg: {told}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1


def _replace_closed_streams() -> None:
    """Open /dev/null in place of streams that are closed, as under cron: Python has None for them.

    In their order, so that it takes their numbers, which the next file would have otherwise.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115


def _adapt_to_terminal() -> None:
    """Whatever it says of itself, there is room for text, and a letter that it cannot show is no error."""
    columns = os.environ.get("COLUMNS")
    if columns is not None and not (columns.isdecimal() and int(columns)):
        del os.environ["COLUMNS"]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not _takes_all_letters(stream):
            stream.reconfigure(errors="backslashreplace")


def _takes_all_letters(stream: io.TextIOWrapper) -> bool:
    """In the locale C, Python lets through bytes that it could not read; in ASCII still no other letters."""
    is_utf8 = codecs.lookup(stream.encoding).name == "utf-8"
    return stream.errors not in ("strict", "surrogateescape") or (
        is_utf8 and stream.errors == "surrogateescape"
    )


def _output_is_broken() -> bool:
    """Whether there is no writing to the output; it is given up then, lest Python try again when it ends."""
    try:
        sys.stdout.flush()
        return False
    except OSError:
        with suppress(OSError):
            sys.stdout.close()
        return True


def _dispatch(words: list[str], *, own_process: bool) -> int:
    for word in [*words, str(Path.cwd())]:  # configs, logs and pages hold the place of a run
        if not is_text(word):
            raise UserError(f"{word!r} is not UTF-8 text: rename what it names")
    if words and not words[0].startswith("-") and words[0] not in COMMANDS:
        raise UsageError(f"unknown command {words[0]!r}{did_you_mean(words[0], COMMANDS)}")
    if words[:1] and words[0] in COMMANDS:
        module = importlib.import_module(COMMANDS[words[0]])
        _require_known_subcommand(words, getattr(module, "SUBCOMMANDS", {}))
    parser = build_parser()
    arguments, rest = parser.parse_known_args(words or ["--help"])
    if rest and not arguments.takes_settings:
        raise UsageError(f"unexpected argument {rest[0]!r}; see recoseg {words[0]} --help")
    arguments.settings = rest
    if own_process and arguments.keeps_memory:
        keep_freed_memory()
    code: int = arguments.run(arguments)
    return code


def build_parser() -> argparse.ArgumentParser:
    """Of all commands."""
    parser = _Parser(
        prog="recoseg",
        description="Semantic segmentation from very few labels.",
        epilog="recoseg COMMAND --help tells more. --debug shows the whole traceback of an error.",
        allow_abbrev=False,
        formatter_class=_Help,
    )
    parser.add_argument("--version", action="version", version=version())
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
    for name, path in COMMANDS.items():
        module = importlib.import_module(path)
        about, has_settings = summary(module), getattr(module, "TAKES_SETTINGS", False)
        command = commands.add_parser(
            name,
            help=about,
            description=textwrap.fill(about, 78),
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            add_help=not has_settings,
        )
        if has_settings:
            command.add_argument("-h", "--help", action=_HelpAction)
        module.add_arguments(command)
        command.epilog = with_examples(command.epilog, module.EXAMPLES)
        command.set_defaults(
            run=module.run, takes_settings=has_settings, keeps_memory=getattr(module, "KEEPS_MEMORY", False)
        )
    return parser


def _require_known_subcommand(words: Sequence[str], known: Mapping[str, object]) -> None:
    """A command may have commands of its own, in a table SUBCOMMANDS."""
    if known and len(words) > 1 and not words[1].startswith("-") and words[1] not in known:
        raise UsageError(f"unknown {words[0]} {words[1]!r}{did_you_mean(words[1], known)}")


def summary(module: ModuleType) -> str:
    return (module.__doc__ or "").strip().splitlines()[0]


def version() -> str:
    from importlib.metadata import version as installed_version

    return f"recoseg {installed_version('recoseg')}"


def tell_troubles(troubles: Sequence[UserError | OSError]) -> int:
    """For commands that go on in spite of some: a line each, after all that could be shown; the exit code."""
    for trouble in troubles:
        print(f"recoseg: {one_line(trouble)}", file=sys.stderr)
    return 1 if troubles else 0


def one_line(error: BaseException, words: Sequence[str] = ()) -> str | None:
    """What to say of an error to whoever gave these words; None if it is a mistake of ours."""
    if is_shortage(error):
        module = sys.modules.get(COMMANDS.get(words[0], "") if words else "")
        return (
            f"out of memory; {getattr(module, 'SAVES_MEMORY', 'close other programs, or give it less to do')}"
        )
    if isinstance(error, UserError):
        return printable(" ".join(str(error).split()))
    if isinstance(error, OSError) and error.errno in _USER_ERRNOS:
        where = f"{error.filename}: " if error.filename else ""
        return printable(f"{where}{error.strerror}")
    return None
