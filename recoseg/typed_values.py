"""Whether a value is of a type, to the last number in it; a ValueError says which part is not.

A type is put together from dataclasses, TypedDicts, dict[str, ...], lists, tuples, unions, plain values and,
for what is not JSON, classes such as Tensor. `Annotated[type, rule]` asks for more: a rule is called with the
value, and raises a ValueError that says what is wrong. Nothing is taken for anything else; config/parse.py,
which reads what people write, takes "3" for a number.
"""

from __future__ import annotations

import json
import math
import sys
import types
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from recoseg.lookup import did_you_mean

LARGEST = sys.float_info.max

Check = Callable[[Any], Any]
"""Returns a value as it shall be used: JSON's lists become tuples where those are meant."""


@dataclass(frozen=True)
class Limits:
    """A rule for numbers."""

    low: float
    high: float = math.inf

    def __call__(self, value: float) -> None:
        if not self.low <= value <= self.high:
            limits = f"at least {self.low:g}" if self.high == math.inf else f"{self.low:g} to {self.high:g}"
            raise ValueError(f"must be {limits}, not {shown(value)}")


@dataclass(frozen=True)
class Others:
    """Beside those that a TypedDict names there may be other fields, all of this type."""

    kind: Any


Count = Annotated[int, Limits(0, 2**63 - 1)]
Share = Annotated[float, Limits(0, 1)]


class WrongFieldError(ValueError):
    """What is wrong with a part of a value; whatever is around it puts its own name before the place."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"{place} {problem}")
        self.place, self.problem = place, problem

    @classmethod
    def of(cls, name: str, error: ValueError) -> WrongFieldError:
        if not isinstance(error, WrongFieldError):
            return cls(name, str(error))
        return cls(f"{name}{'' if error.place.startswith('[') else '.'}{error.place}", error.problem)


@cache
def check_of(kind: Any) -> Check:
    """What to call with a value that shall be of this type."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return with_rules(inner[0], inner[1:])
    if origin is NotRequired:
        return check_of(inner[0])
    if origin in (Union, types.UnionType):
        return one_of(inner)
    if is_typeddict(kind) or is_dataclass(kind):
        return fields_of(kind)
    if origin is dict:
        return entries_of(inner[1])
    if origin in (list, tuple):
        return items_of(origin, inner)
    return (lambda value: value) if kind is Any else plain(kind)


def outline(kind: Any) -> tuple[type, str]:
    """What a value of this type is in Python at all, whatever is in it, and what people call that."""
    if get_origin(kind) is Annotated:
        return outline(get_args(kind)[0])
    base = dict if is_typeddict(kind) or is_dataclass(kind) else get_origin(kind) or kind
    words = {
        int: "a whole number", float: "a number", str: "text", bool: "true or false", list: "a list",
        tuple: "a list", dict: "an object", type(None): "null",
    }  # fmt: skip
    return list if base is tuple else base, words.get(base, f"a {base.__name__}")


def is_a(base: type, value: Any) -> bool:
    """True and False are no numbers; a whole number is a number."""
    if isinstance(value, bool):
        return base is bool
    return isinstance(value, base) or (base is float and isinstance(value, int))


def require_a(base: type, words: str, value: Any) -> None:
    if not is_a(base, value):
        raise ValueError(f"must be {words}, not {shown(value)}")


def plain(kind: Any) -> Check:
    base, words = outline(kind)

    def check(value: Any) -> Any:
        require_a(base, words, value)
        if base is float and not abs(value) <= LARGEST:  # nor is NaN
            raise ValueError(f"must be {words}, not {shown(value)}")
        return float(value) if base is float else value

    return check


def with_rules(kind: Any, rules: tuple[Any, ...]) -> Check:
    others = [rule.kind for rule in rules if isinstance(rule, Others)]
    first = fields_of(kind, others[0]) if others else check_of(kind)
    more = [rule for rule in rules if not isinstance(rule, Others)]

    def check(value: Any) -> Any:
        value = first(value)
        for rule in more:
            rule(value)
        return value

    return check


def one_of(kinds: tuple[Any, ...]) -> Check:
    options = [(outline(kind)[0], check_of(kind)) for kind in kinds]
    words = " or ".join(outline(kind)[1] for kind in kinds)

    def check(value: Any) -> Any:
        for base, one in options:
            if is_a(base, value):
                return one(value)
        raise ValueError(f"must be {words}, not {shown(value)}")

    return check


def fields_of(kind: Any, others: Any = None) -> Check:
    """A TypedDict; or a dataclass, made from an object."""
    hints = get_type_hints(kind, include_extras=True)
    checks = {name: check_of(hint) for name, hint in hints.items()}
    rest = None if others is None else check_of(others)
    if is_typeddict(kind):
        needed = [name for name, hint in hints.items() if get_origin(hint) is not NotRequired]
    else:
        needed = [f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING]

    def check(value: Any) -> Any:
        require_a(dict, "an object", value)
        for name in needed:
            if name not in value:
                raise WrongFieldError(name, "is missing")
        for name in value if rest is None else ():
            if name not in checks:
                raise WrongFieldError(str(name), f"is not known{did_you_mean(str(name), checks)}")
        found = {name: inside(name, checks.get(name, rest), item) for name, item in value.items()}
        return found if is_typeddict(kind) else kind(**found)

    return check


def entries_of(kind: Any) -> Check:
    one = check_of(kind)

    def check(value: Any) -> Any:
        require_a(dict, "an object", value)
        return {name: inside(name, one, item) for name, item in value.items()}

    return check


def inside(name: str, check: Any, value: Any) -> Any:
    try:
        return check(value)
    except ValueError as error:
        raise WrongFieldError.of(str(name), error) from None


def items_of(make: Any, kinds: tuple[Any, ...]) -> Check:
    """A list of any length, or a tuple: of as many as it names, or of any number with an ellipsis."""
    ones = [check_of(kind) for kind in kinds if kind is not Ellipsis]
    any_number = make is list or len(ones) < len(kinds)

    def check(value: Any) -> Any:
        require_a(list, "a list", value)
        if not any_number and len(value) != len(ones):
            raise ValueError(f"must have {len(ones)} entries, not {len(value)}")
        found: list[Any] = []
        try:
            for one, item in zip(ones * len(value) if any_number else ones, value, strict=True):
                found.append(one(item))
        except ValueError as error:
            raise WrongFieldError.of(f"[{len(found)}]", error) from None
        return make(found)

    return check


def require_lengths(name: str, values: Any, *lengths: int) -> None:
    """For rules about lists in lists: so many, of so many each."""
    if len(values) != lengths[0]:
        raise WrongFieldError(name, f"must have {lengths[0]} entries, not {len(values)}")
    for place, value in enumerate(values) if len(lengths) > 1 else ():
        require_lengths(f"{name}[{place}]", value, *lengths[1:])


def shown(value: Any) -> str:
    """A value as an error shows it: short, and harmless to a terminal."""
    if not isinstance(value, str | int | float):
        return outline(type(value))[1]
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
