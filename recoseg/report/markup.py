"""HTML that is escaped by default: pages are made by `templates/`, charts and tables by `tag`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup as Markup
from markupsafe import escape

from recoseg.text import percent

_VOID_ELEMENTS = {"img", "input"}
"""HTML never closes these."""


def render(template: str, **values: Any) -> Markup:
    """Fill a template of `templates/` with values. Strings are escaped unless they are `Markup`."""
    return Markup(_ENVIRONMENT.get_template(template).render(values))


def source(name: str) -> Markup:
    """Return a style sheet or a script of `templates/` as it is."""
    assert _ENVIRONMENT.loader is not None
    return Markup(_ENVIRONMENT.loader.get_source(_ENVIRONMENT, name)[0])


def tag(name: str, /, *content: str, **attributes: str | float | bool | None) -> Markup:
    """An element. `class_` stands for class and `data_key` for data-key; False and None leave one out."""
    opening = Markup(f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}>")
    return opening if name in _VOID_ELEMENTS else opening + joined(content) + Markup(f"</{name}>")


def joined(content: Iterable[str]) -> Markup:
    return Markup("").join(content)


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
    return Markup("<wbr>").join(re.split(r"(?<=[_./\\])(?=.)", name))


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


def colour_box(colour: tuple[int, int, int]) -> Markup:
    """A box of a class's colour."""
    return tag("span", class_="box", style=f"background:rgb{colour}".replace(" ", ""))


_ENVIRONMENT = Environment(
    loader=PackageLoader("recoseg.report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters |= {"percent": percent}
_ENVIRONMENT.globals |= {"colour_box": colour_box, "run_colour": run_colour, "run_heading": run_heading}
