"""The rules that keep the tree legible: imports point one way, files stay small, the whole only shrinks."""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from recoseg.cli import main
from recoseg.config.setting import setting_names
from recoseg.config.settings import RunConfig

ORDER = [
    "errors", "text", "tables", "progress", "own_code", "files", "records", "plain_scores", "score_names",
    "kept_memory", "seeds", "read_ahead", "colours", "config", "types", "overlay", "distributed", "data",
    "splits", "augment", "batches", "models", "losses", "methods", "evaluate", "probe", "predict",
    "label_formats", "export", "training", "figures", "report", "runs", "label", "experiments", "cli",
    "__main__", "__init__",
]  # fmt: skip
PACKAGE = Path(__file__).parents[1] / "recoseg"
FILES = sorted(PACKAGE.rglob("*.py"))
"""Each rule is one test for all of them, and tells of every file that breaks it."""

COMMANDS = {path.rpartition(".")[2] for path in main.COMMANDS.values()}
MOST_LINES = 400
MOST = {"files": 320, "lines": 40_000, "settings": 155, "options": 166}
"""Of the whole tree; lower a number after you take something away."""
MOVERS = {
    "batches",
    "training",
    "evaluate",
    "predict",
    "runs",
    "losses",
    "probe",
}  # losses: what was counted on the host


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def part_of(module: str) -> str:
    """The entry of ORDER that a module, such as "tables" or "data.camvid", belongs to."""
    whole = ".".join(module.split(".")[:2])
    return whole if whole in ORDER else module.split(".")[0]


@cache
def imported_modules(path: Path) -> frozenset[str]:
    """The modules of recoseg that a file imports, also inside functions, and names taken from them."""
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return frozenset(name.removeprefix("recoseg.") for name in names if name.startswith("recoseg."))


def test_every_part_has_a_place_in_the_order() -> None:
    assert {part_of(module_of(path)) for path in FILES} <= set(ORDER)


def test_imports_point_back_along_the_flow_of_data() -> None:
    later = {
        (module_of(path), name)
        for path in FILES
        for name in imported_modules(path)
        if part_of(name) in ORDER and ORDER.index(part_of(name)) > ORDER.index(part_of(module_of(path)))
    }
    assert not later, "they import what comes after them"


def test_no_command_imports_another() -> None:
    def command_of(module: str) -> str | None:
        part, _, rest = module.partition(".")
        name = rest.split(".")[0]
        return name if part == "cli" and name in COMMANDS else None

    both = {
        (module_of(path), name)
        for path in FILES
        if command_of(module_of(path))
        for name in imported_modules(path)
        if command_of(name) not in (None, command_of(module_of(path)))
    }
    assert not both


def test_the_tree_only_shrinks(record_property: Callable[[str, object], None]) -> None:
    """Whoever takes something away lowers the number; whoever adds something takes something away."""
    sizes = {
        "files": len(FILES),
        "lines": sum(path.read_text(encoding="utf-8").count("\n") for path in FILES),
        "settings": len(set(setting_names(RunConfig))),
        "options": sum(map(num_options, parsers(main.build_parser()))),
    }
    for name, size in sizes.items():
        record_property(name, size)
    assert {name: size for name, size in sizes.items() if size > MOST[name]} == {}


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Those of all commands and of their own commands."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from parsers(command)


def num_options(parser: argparse.ArgumentParser) -> int:
    return sum(
        bool(action.option_strings) and "--help" not in action.option_strings for action in parser._actions
    )


def test_every_file_says_what_it_is_and_stays_small() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in FILES}
    silent = [path for path, text in texts.items() if not ast.get_docstring(ast.parse(text))]
    assert not silent, "the first line of a module says what it is"
    assert not [path for path, text in texts.items() if text.count("\n") > MOST_LINES]


def test_only_those_that_run_networks_choose_where_tensors_live() -> None:
    """A `.cuda()` anywhere would tie us to one kind of device; `.to(device)` belongs to loops over images."""
    texts = {path: path.read_text(encoding="utf-8") for path in FILES}
    assert not [path for path, text in texts.items() if ".cuda()" in text]
    moving = {
        part_of(module_of(path)) for path, text in texts.items() if re.search(r"\.to\((self\.)?device", text)
    }
    assert moving <= MOVERS


def test_what_commands_print_goes_through_one_console() -> None:
    """Rich takes square brackets in the names of images, classes and runs for markup unless told not to."""
    makers = [
        path
        for path in FILES
        if part_of(module_of(path)) == "cli" and " Console(" in path.read_text(encoding="utf-8")
    ]
    assert [path.name for path in makers] == ["terminal.py"]


def test_the_order_check_sees_an_import_that_points_the_wrong_way(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("def f():\n    from recoseg.cli.main import main\n    return main\n")
    assert imported_modules(bad) == {"cli.main.main"}
