"""A YAML file of settings -> its values, and the line that each is from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from recoseg.errors import UserError
from recoseg.text import shortened

_MOST_ALIASES = 20
"""In a config of others, a few lines of aliases of aliases can stand for any amount of memory."""

_BROKEN = (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError)
"""What reading may raise: YAML's own errors, and Python's about a date such as 2026-99-99."""


class SettingsLoader(yaml.SafeLoader):
    """YAML's safe loader, with few aliases, and no key twice: the first would be lost."""

    num_aliases = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            self.num_aliases += 1
            if self.num_aliases > _MOST_ALIASES:
                problem = f"more than {_MOST_ALIASES} aliases; write out what is needed"
                mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=mark)
        node: yaml.Node | None = super().compose_node(parent, index)
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


def read_yaml(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """The values of a file, and dotted name -> file and line."""
    try:
        loader = SettingsLoader(path.read_text(encoding="utf-8"))
        node = loader.get_single_node()
        values = {} if node is None else loader.construct_document(node)
        lines = _lines(node, path)
    except RecursionError:
        raise UserError(f"{path}: lists or settings inside each other without end") from None
    except _BROKEN as error:
        where = getattr(error, "problem_mark", None)
        line = f" line {where.line + 1}" if where else ""
        problem = shortened(str(getattr(error, "problem", None) or error))
        raise UserError(f"{path}{line}: not valid YAML: {problem}") from error
    values = {} if values is None else values
    if not isinstance(values, dict):
        given = shortened(repr(values), 40)
        raise UserError(f"{path}: expected settings as 'key: value', got {given}")
    return {str(key): value for key, value in values.items()}, lines


_DEEPEST = 3
"""Settings are not nested deeper; a file that holds itself is."""


def _lines(node: yaml.Node | None, path: Path, above: str = "") -> dict[str, str]:
    lines: dict[str, str] = {}
    if isinstance(node, yaml.MappingNode) and above.count(".") < _DEEPEST:
        for key, value in node.value:
            name = f"{above}{key.value}"
            lines |= {name: f"{path} line {key.start_mark.line + 1}", **_lines(value, path, f"{name}.")}
    return lines
