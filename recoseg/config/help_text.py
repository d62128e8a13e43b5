"""The help text of all settings: dotted name, default, meaning."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator
from typing import Any, Literal, get_args, get_origin

from recoseg.config.method_settings import FactoryMethod
from recoseg.config.setting import Section, fields, help_texts, parts, setting_names
from recoseg.config.settings import RunConfig
from recoseg.errors import UsageError
from recoseg.score_names import LAST_WEIGHTS
from recoseg.text import DASH, listed, nearest_name, shortened

SECTIONS = tuple(field.name for field in fields(RunConfig))


def describe_settings(names: Collection[str] = SECTIONS, width: int = 80) -> str:
    """The settings of those sections with their defaults and meanings, a paragraph a section."""
    lines: list[str] = []
    for path, kind, section in _all_sections():
        if path.partition(".")[0] in names:
            lines += ["", *textwrap.wrap(f"{f'{path} {kind}'.strip()}: {section.__doc__}", width)]
            lines += [_describe(section, name, path, width) for name in _own_settings(section)]
    return "\n".join(lines).strip()


def _all_sections(
    kind: type[Section] = RunConfig, above: str = ""
) -> Iterator[tuple[str, str, type[Section]]]:
    """(path, name, section) of all sections that a config may have."""
    for field in fields(kind):
        for name, section in parts(field.type).sections.items():
            yield above + field.name, name, section
            yield from _all_sections(section, f"{above}{field.name}.")


def _own_settings(section: type[Section]) -> list[str]:
    return [field.name for field in fields(section) if not parts(field.type).sections]


def _describe(section: type[Section], name: str, path: str, width: int) -> str:
    field = next(field for field in fields(section) if field.name == name)
    kind, text = parts(field.type).kinds[0], help_texts(section)[name]
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    if not all(choice in text for choice in choices):
        text = f"{text}: {listed(choices, last='or')}"
    default = "required" if field.required else f"default {show(field.default)}"
    indent = " " * 6
    lines = textwrap.wrap(f"{text} ({default})", width, initial_indent=indent, subsequent_indent=indent)
    return "\n".join([f"  --{path}.{name}", *lines])


def describe_setting(name: str, width: int = 80) -> str:
    """One setting by its dotted name, once for each meaning that it has in the kinds of its section."""
    found: dict[str, list[str]] = {}  # its lines -> the kinds that have it so
    path, _, last = name.replace("-", "_").rpartition(".")
    for place, kind, section in _all_sections():
        if place == path and last in _own_settings(section):
            kinds = found.setdefault(_describe(section, last, path, width), [])
            kinds.append(f"{path} {kind}".strip())
    if not found:
        nearest = nearest_name(f"{path}.{last}", setting_names(RunConfig))
        remedy = f"did you mean {nearest}?" if nearest else "--help all shows all of them"
        raise UsageError(f"--help: unknown setting {shortened(repr(name))}; {remedy}")
    return "\n\n".join(
        f"{textwrap.fill(f'{listed(kinds)}:', width)}\n{lines}" for lines, kinds in found.items()
    )


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
