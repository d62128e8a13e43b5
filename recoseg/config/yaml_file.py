"""Reading a YAML file of settings: plain values, or one line that says where the file is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from recoseg.config.parse import section_mapping
from recoseg.errors import UserError
from recoseg.files import regular
from recoseg.words import shortened

MOST_VALUES = 10_000
"""A few lines of aliases of aliases can stand for more than any memory holds."""

MOST_DIGITS = 100

BROKEN = (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError)
"""What reading may raise: YAML's own errors, and whatever Python says to a date such as 2026-99-99."""


class SettingsLoader(yaml.SafeLoader):
    """YAML's safe loader, with a limit to what a file may hold, and no key twice: the first would be lost."""

    def get_single_node(self) -> yaml.Node | None:
        node: yaml.Node | None = super().get_single_node()
        if node is not None and expanded_size(node, {}) > MOST_VALUES:
            problem = f"with its aliases it holds more than {MOST_VALUES:,} values; write out what is needed"
            raise yaml.MarkedYAMLError(problem=problem)
        return node

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        keys = [key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        first = {key.value: key for key in reversed(keys)}
        for key in keys:  # as written: what an alias merges in comes later, and may be overridden
            if key is not first[key.value]:
                where = f"first in line {first[key.value].start_mark.line + 1}"
                problem = f"the key {key.value!r} is there twice, {where}; keep one of them"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
        return node

    def construct_short_int(self, node: yaml.ScalarNode) -> int:
        """Python refuses thousands of digits, some when they are read and some when they are shown."""
        if len(node.value) > MOST_DIGITS:
            problem = f"a whole number of more than {MOST_DIGITS} digits"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
        number: int = self.construct_yaml_int(node)
        return number


SettingsLoader.add_constructor("tag:yaml.org,2002:int", SettingsLoader.construct_short_int)


def expanded_size(node: yaml.Node, known: dict[int, float]) -> float:
    """How many values it holds when every alias is written out; one that holds itself has no end."""
    if id(node) not in known:
        known[id(node)] = float("inf")
        inner = node.value if isinstance(node, yaml.CollectionNode) else ()
        parts = (part for item in inner for part in (item if isinstance(item, tuple) else (item,)))
        known[id(node)] = 1 + sum(expanded_size(part, known) for part in parts)
    return known[id(node)]


def read_yaml(path: Path) -> dict[str, object]:
    """The values of a file, which must be a mapping or empty."""
    try:
        values = yaml.load(regular(path).read_text(encoding="utf-8"), SettingsLoader)
    except RecursionError:
        raise UserError(f"{path}: lists or settings inside each other without end") from None
    except BROKEN as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where else ""
        told = shortened(str(getattr(error, "problem", None) or error))
        raise UserError(f"{path}{line}: not valid YAML: {told}") from error
    if isinstance(values, str):
        raise UserError(f"{path}: expected settings as 'key: value', got the text {values[:40]!r}")
    return dict(section_mapping(values, str(path)))
