"""Finding something by name in a table, with an error that helps when the name is not there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TypeVar

from recoseg.errors import UserError
from recoseg.words import shortened

Value = TypeVar("Value")


def lookup(table: Mapping[str, Value], name: str, *, what: str) -> Value:
    """`table[name]`, or a `UserError` that lists the names and the nearest one. `what` names the table."""
    if name in table:
        return table[name]
    raise UserError(f"unknown {what} {shortened(repr(name))}{did_you_mean(name, table)}")


def nearest_name(name: str, names: Sequence[str]) -> str | None:
    """The one of the names that `name` may be a misspelling of."""
    # The last part of a dotted name is what people misspell; compare without case.
    near = get_close_matches(name.lower(), [n.lower() for n in names], n=1, cutoff=0.6)
    return next((n for n in names if near and n.lower() == near[0]), None)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """The end of an error message: the nearest of the names, if one is near, and all of them."""
    names = list(names)
    nearest = nearest_name(name, names)
    hint = f"; did you mean {nearest!r}?" if nearest else "."
    return f"{hint} Known: {', '.join(names)}" if names else hint
