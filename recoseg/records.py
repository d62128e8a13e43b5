"""Files that recoseg wrote, read back: values of known types, or one line that names file and field.

A type is put together from dataclasses, TypedDicts, dict[str, ...], lists, tuples, unions, plain values and,
for what is not JSON, classes such as Tensor. `Annotated[type, rule]` asks for more: a rule is called with the
value, and raises a ValueError that says what is wrong. Nothing is taken for anything else; config/parse.py,
which reads what people write, takes "3" for a number.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from recoseg.errors import UserError
from recoseg.files import write_whole
from recoseg.text import did_you_mean

LARGEST = sys.float_info.max

_Check = Callable[[Any], Any]
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
def _check_of(kind: Any) -> _Check:
    """What to call with a value that shall be of this type."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _with_rules(inner[0], inner[1:])
    if origin is NotRequired:
        return _check_of(inner[0])
    if origin in (Union, types.UnionType):
        return _one_of(inner)
    if is_typeddict(kind) or is_dataclass(kind):
        return _fields_of(kind)
    if origin is dict:
        return _entries_of(inner[1])
    if origin in (list, tuple):
        return _items_of(origin, inner)
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


def _is_a(base: type, value: Any) -> bool:
    """True and False are no numbers; a whole number is a number."""
    if isinstance(value, bool):
        return base is bool
    return isinstance(value, base) or (base is float and isinstance(value, int))


def _require_a(base: type, words: str, value: Any) -> None:
    if not _is_a(base, value):
        raise ValueError(f"must be {words}, not {shown(value)}")


def plain(kind: Any) -> _Check:
    base, words = outline(kind)

    def check(value: Any) -> Any:
        _require_a(base, words, value)
        if base is float and not abs(value) <= LARGEST:  # nor is NaN
            raise ValueError(f"must be {words}, not {shown(value)}")
        return float(value) if base is float else value

    return check


def _with_rules(kind: Any, rules: tuple[Any, ...]) -> _Check:
    others = [rule.kind for rule in rules if isinstance(rule, Others)]
    first = _fields_of(kind, others[0]) if others else _check_of(kind)
    more = [rule for rule in rules if not isinstance(rule, Others)]

    def check(value: Any) -> Any:
        value = first(value)
        for rule in more:
            rule(value)
        return value

    return check


def _one_of(kinds: tuple[Any, ...]) -> _Check:
    options = [(outline(kind)[0], _check_of(kind)) for kind in kinds]
    words = " or ".join(outline(kind)[1] for kind in kinds)

    def check(value: Any) -> Any:
        for base, one in options:
            if _is_a(base, value):
                return one(value)
        raise ValueError(f"must be {words}, not {shown(value)}")

    return check


def _fields_of(kind: Any, others: Any = None) -> _Check:
    """A TypedDict; or a dataclass, made from an object."""
    hints = get_type_hints(kind, include_extras=True)
    checks = {name: _check_of(hint) for name, hint in hints.items()}
    rest = None if others is None else _check_of(others)
    if is_typeddict(kind):
        needed = [name for name, hint in hints.items() if get_origin(hint) is not NotRequired]
    else:
        needed = [f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING]

    def check(value: Any) -> Any:
        _require_a(dict, "an object", value)
        for name in needed:
            if name not in value:
                raise WrongFieldError(name, "is missing")
        for name in value if rest is None else ():
            if name not in checks:
                raise WrongFieldError(str(name), f"is not known{did_you_mean(str(name), checks)}")
        found = {name: inside(name, checks.get(name, rest), item) for name, item in value.items()}
        return found if is_typeddict(kind) else kind(**found)

    return check


def _entries_of(kind: Any) -> _Check:
    one = _check_of(kind)

    def check(value: Any) -> Any:
        _require_a(dict, "an object", value)
        return {name: inside(name, one, item) for name, item in value.items()}

    return check


def inside(name: str, check: Any, value: Any) -> Any:
    try:
        return check(value)
    except ValueError as error:
        raise WrongFieldError.of(str(name), error) from None


def require_kind(name: str, value: Any, kind: Any) -> None:
    """A rule may ask of a part that it is of a type."""
    inside(name, _check_of(kind), value)


def _items_of(make: Any, kinds: tuple[Any, ...]) -> _Check:
    """A list of any length, or a tuple: of as many as it names, or of any number with an ellipsis."""
    ones = [_check_of(kind) for kind in kinds if kind is not Ellipsis]
    any_number = make is list or len(ones) < len(kinds)

    def check(value: Any) -> Any:
        _require_a(list, "a list", value)
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


_HALVES = re.compile(r"\\u[dD][89a-fA-F]")
"""How JSON in ASCII spells the halves of characters that need two."""


def read_record(path: Path, kind: Any, *, what: str, remedy: str) -> Any:
    """What a JSON file holds, as `kind`; an error calls a missing file `what`, and says what to do."""
    content = read_bytes(path, what)
    if not content.strip():
        raise UserError(f"{path} is empty; {remedy}")
    return from_json(content, kind, where=str(path), remedy=remedy)


def write_or_compare(path: Path, record: Mapping[str, Any], kind: Any) -> None:
    """Notes how the folder of `path` is made, or makes sure that it was begun in the same way."""
    if not os.path.lexists(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(record, indent=1) + "\n")
    earlier = read_record(path, kind, what="record", remedy="bring it back, or give a new folder")
    for name, now in record.items():
        before = earlier.get(name, now)
        if before != now:
            raise UserError(
                f"{path.parent} was begun with {name} {before}, not {now}; give the same, or another folder"
            )


def read_records(path: Path, kind: Any, *, what: str, remedy: str, is_log: bool = False) -> list[Any]:
    """What the lines of a file hold. The last line of a log is left out where a crash cut it short."""
    lines = read_bytes(path, what).split(b"\n")  # after the last line end: nothing, or half a line
    records = []
    for number, line in enumerate(lines, 1):
        if is_log and number == len(lines) and not _is_json(line):
            break
        if line.strip():
            records.append(from_json(line, kind, where=f"{path} line {number}", remedy=remedy))
    return records


def read_bytes(path: Path, what: str) -> bytes:
    if not path.exists():
        raise UserError(f"no {what} at {path}")
    if not path.is_file():  # a folder; or a pipe, which would be waited for without end
        raise UserError(f"{path} is not a file")
    return path.read_bytes()


def from_json(content: bytes | str, kind: Any, *, where: str, remedy: str) -> Any:
    """JSON as a value of that type; an error begins with `where`, and says what to do."""
    try:
        value = parsed(content)
    except ValueError as error:
        raise UserError(f"{where}: {error}; {remedy}") from None
    return checked(value, kind, where=where, remedy=remedy)


def checked(value: Any, kind: Any, *, where: str, remedy: str) -> Any:
    """The same of a value that is there already."""
    try:
        return _check_of(kind)(value)
    except ValueError as error:
        raise UserError(f"{where}: {error}; {remedy}") from None


def _is_json(content: bytes) -> bool:
    try:
        parsed(content)
    except ValueError:
        return False
    return True


def parsed(content: bytes | str) -> Any:
    """JSON as plain values; a ValueError says in words what is wrong with it."""
    try:
        text = content.decode() if isinstance(content, bytes) else content
        value = json.loads(text, object_pairs_hook=_without_repeats)
        if _HALVES.search(text):  # two of them are a character, one cannot be written down again
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except UnicodeError:
        raise ValueError("not UTF-8 text") from None
    except RecursionError:
        raise ValueError("nested too deep") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON, or cut short (at character {error.pos})") from None
    except WrongFieldError:
        raise
    except ValueError:  # Python's limit of digits
        raise ValueError("a number of too many digits") from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise WrongFieldError(next(name for name in names if names.count(name) > 1), "is there twice")
    return values
