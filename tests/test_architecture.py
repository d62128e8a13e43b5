"""The rules that keep the tree legible: imports point one way, only builders/ and above know the config."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ORDER = [
    "errors", "words", "lookup", "files", "typed_values", "records", "kept_memory", "seeds", "types",
    "distributed", "data", "splits", "augment", "loaders", "models", "losses", "methods", "evaluate",
    "predict", "export", "train", "figures", "report", "config", "builders", "experiments", "cli", "__main__",
    "__init__",
]  # fmt: skip
PACKAGE = Path(__file__).parents[1] / "recoseg"
FILES = sorted(PACKAGE.rglob("*.py"))
"""Each rule is one test for all of them, and tells of every file that breaks it."""


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def imported_parts(path: Path) -> frozenset[str]:
    """The parts of recoseg that a file imports, also inside functions."""
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return frozenset(name.split(".")[1] for name in names if name.startswith("recoseg."))


def test_every_part_has_a_place_in_the_order() -> None:
    assert len(FILES) > 200
    assert {part_of(path) for path in FILES} <= set(ORDER)


def test_imports_point_back_along_the_flow_of_data() -> None:
    later = {
        (path, name)
        for path in FILES
        for name in imported_parts(path) & set(ORDER)
        if ORDER.index(name) > ORDER.index(part_of(path))
    }
    assert not later, "they import what comes after them"


def test_the_config_is_known_to_the_builders_and_above_only() -> None:
    below = [path for path in FILES if ORDER.index(part_of(path)) < ORDER.index("config")]
    assert not [path for path in below if "config" in imported_parts(path)]


def test_every_file_says_what_it_is_and_stays_small() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in FILES}
    silent = [path for path, text in texts.items() if not ast.get_docstring(ast.parse(text))]
    assert not silent, "the first line of a module says what it is"
    assert not [path for path, text in texts.items() if text.count("\n") > 250]


def test_only_trainer_and_evaluator_choose_where_tensors_live() -> None:
    """A `.cuda()` anywhere would tie us to one kind of device."""
    assert not [path for path in FILES if ".cuda()" in path.read_text(encoding="utf-8")]


def test_what_commands_print_goes_through_one_console() -> None:
    """Rich takes square brackets in the names of images, classes and runs for markup unless told not to."""
    makers = [
        path for path in FILES if part_of(path) == "cli" and " Console(" in path.read_text(encoding="utf-8")
    ]
    assert [path.name for path in makers] == ["terminal.py"]


def test_the_order_check_sees_an_import_that_points_the_wrong_way(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("def f():\n    from recoseg.cli.main import main\n    return main\n")
    assert imported_parts(bad) == {"cli"}
