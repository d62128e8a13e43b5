"""HTML built so that escaping is the default: only what `tag` made, or what is marked, goes in as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

_VOID_ELEMENTS = {"img", "input"}
"""Those of ours that HTML never closes."""


class Markup(str):
    """Text that is HTML already; any other string is escaped where it is inserted."""

    __slots__ = ()


def tag(name: str, /, *content: str, **attributes: str | float | bool | None) -> Markup:
    """An element. `class_` stands for class and `data_key` for data-key; False and None leave one out."""
    opening = f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}>"
    if name in _VOID_ELEMENTS:
        return Markup(opening)
    return Markup(f"{opening}{joined(content)}</{name}>")


def joined(content: Iterable[str]) -> Markup:
    return Markup("".join(part if isinstance(part, Markup) else escape(part) for part in content))


def _attribute(key: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'


def for_screen_readers(text: str) -> Markup:
    """Text for screen readers where the eye has colour or position instead."""
    return tag("span", text, class_="unseen")


def run_colour(index: int) -> str:
    """The CSS class that sets the colour of run number `index`; there are eight, then they repeat."""
    return f"run-{index % 8 + 1}"


def breakable(name: str) -> Markup:
    """A name that wraps after its underscores, dots and slashes, where browsers would break inside a word."""
    parts = re.split(r"(?<=[_./\\])(?=.)", name)
    return Markup("<wbr>".join(escape(part) for part in parts))


def run_heading(name: str, index: int, *, level: str = "h3") -> Markup:
    """A run's name behind a dash of its colour."""
    return tag(level, tag("span", class_="dash"), breakable(name), class_=f"run-name {run_colour(index)}")


def legend(names: Iterable[str]) -> Markup:
    """Which colour is which run."""
    items = (
        tag("li", tag("span", class_="dash"), breakable(name), class_=run_colour(i))
        for i, name in enumerate(names)
    )
    return tag("ul", *items, class_="legend")
