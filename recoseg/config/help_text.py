"""The help text of all settings: dotted name, default, meaning."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

from recoseg.config.method_settings import FactoryMethod
from recoseg.config.parse import members, setting_names
from recoseg.config.settings import RunConfig
from recoseg.errors import UsageError
from recoseg.score_names import LAST_WEIGHTS
from recoseg.text import DASH, listed, nearest_name, shortened

SECTIONS = tuple(section.name for section in fields(RunConfig))


def describe_settings(sections: Collection[str] = SECTIONS, width: int = 80) -> str:
    """The settings of those sections with their defaults and meanings, a paragraph a section."""
    lines: list[str] = []
    hints = get_type_hints(RunConfig)
    for section in fields(RunConfig):
        if section.name not in sections:
            continue
        options = members(hints[section.name])
        if not options:
            lines += ["", f"{section.name}: {hints[section.name].__doc__}"]
            lines += _describe_section(hints[section.name], section.name, width)
        for name, option in options.items():
            lines += ["", *textwrap.wrap(f"{section.name} {name}: {option.__doc__}", width)]
            lines += _describe_section(option, section.name, width)
            lines += _describe_sections_below(option, section.name, width)
    return "\n".join(lines).strip()


def _describe_sections_below(kind: Any, path: str, width: int) -> Iterator[str]:
    """Of the settings that are sections themselves: what each may be."""
    for field, hint in get_type_hints(kind).items():
        for name, option in members(hint).items():
            yield from ("", *textwrap.wrap(f"{path}.{field} {name}: {option.__doc__}", width))
            yield from _describe_section(option, f"{path}.{field}", width)


def _describe_section(kind: Any, path: str, width: int) -> Iterator[str]:
    hints = get_type_hints(kind)
    for f in fields(kind):
        if f.name == "name" or members(hints[f.name]):
            continue
        yield from _describe_field(f, hints[f.name], path, width)


def _describe_field(f: Field[Any], hint: Any, path: str, width: int) -> Iterator[str]:
    default = "required" if f.default is MISSING else f"default {show(f.default)}"
    yield f"  --{path}.{f.name}"
    indent = " " * 6
    choices = get_args(hint) if get_origin(hint) is Literal else ()
    untold = not all(str(choice) in f.metadata["help"] for choice in choices)
    told = f"{f.metadata['help']}: {listed(choices, last='or')}" if untold else f.metadata["help"]
    text = f"{told} ({default})"
    yield from textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent)


def describe_setting(name: str, width: int = 80) -> str:
    """One setting by its dotted name, once for each meaning that it has in the kinds of its section."""
    found: dict[str, list[str]] = {}  # its lines -> the kinds that have it so
    dotted = name.replace("-", "_")
    for kind, path, f, hint in _all_fields(RunConfig, ""):
        if f"{path}.{f.name}" == dotted:
            found.setdefault("\n".join(_describe_field(f, hint, path, width)), []).append(kind)
    if not found:
        nearest = nearest_name(dotted, setting_names(RunConfig))
        remedy = f"did you mean {nearest!r}?" if nearest else "--help all shows all of them"
        raise UsageError(f"--help: unknown setting {shortened(repr(name))}; {remedy}")
    parts = [f"{textwrap.fill(f'{listed(kinds)}:', width)}\n{lines}" for lines, kinds in found.items()]
    return "\n\n".join(parts)


def _all_fields(kind: Any, path: str, owner: str = "") -> Iterator[tuple[str, str, Field[Any], Any]]:
    """(the kind of section, such as "model deeplab_v2"; its path; a field; its type) of all settings."""
    hints = get_type_hints(kind)
    for f in fields(kind):
        below = f"{path}.{f.name}" if path else f.name
        for name, option in members(hints[f.name]).items():
            yield from _all_fields(option, below, f"{below} {name}")
        if is_dataclass(hints[f.name]) and not members(hints[f.name]):
            yield from _all_fields(hints[f.name], below, below)
        elif path and f.name != "name" and not members(hints[f.name]):
            yield owner, path, f, hints[f.name]


def describe_model(section: Any) -> str:
    """A network in a few words."""
    detail = getattr(section, "encoder", None) or getattr(section, "checkpoint", None)
    detail = detail or getattr(section, "factory", None)
    return f"{section.name}, {detail}" if detail else str(section.name)


def describe_method(config: RunConfig) -> str:
    """A method in a few words: what people call it."""
    mix = getattr(config.method, "mix", "none")
    own = getattr(config.method, "factory", config.method.name)
    name = own if mix == "none" else f"{own} with {mix}"
    return name if config.contrast is None else f"{name} + regional contrast"


def describe_weights(config: RunConfig) -> str:
    """The weights that a run is scored with: those of the last step, or their moving average (EMA)."""
    if isinstance(config.method, FactoryMethod):
        return DASH  # its own code decides
    decay = getattr(config.method, "decay", getattr(config.method, "average", None))
    return LAST_WEIGHTS if decay is None else f"EMA {decay:.4g}"


def show(value: object) -> str:
    """A default as one would type it."""
    if isinstance(value, tuple):
        return ("x" if all(isinstance(v, int) for v in value) else ",").join(show(v) for v in value)
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
