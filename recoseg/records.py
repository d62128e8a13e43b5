"""Files that recoseg wrote, read back: values of known types, or one line that names file and field.

msgspec checks the types: TypedDicts, dataclasses, dict[str, ...], lists, tuples, unions, numbers within
limits, and classes such as Tensor. It is strict here: "3" is no number. A `rule` is called with a value that
has its type, and raises a ValueError that says what is wrong.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from functools import reduce
from pathlib import Path
from typing import Annotated, Any, is_typeddict

import msgspec
from msgspec import Meta

from recoseg.errors import UserError
from recoseg.files import write_whole
from recoseg.text import did_you_mean, shortened

Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Share = Annotated[float, Meta(ge=0, le=1)]
NonNegative = Annotated[float, Meta(ge=0)]

Rule = Callable[[Any], object]


class WrongFieldError(ValueError):
    """What is wrong with the field at `place`."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"{place} {problem}")
        self.place, self.problem = place, problem


_WORDS = {
    "int": "a whole number", "float": "a number", "str": "text", "bool": "true or false", "array": "a list",
    "object": "an object", "null": "null",
}  # fmt: skip
_LIMITS = {">=": "at least", "<=": "at most"}


def convert(value: Any, kind: Any) -> Any:
    """`value` as `kind`; a ValueError names the field that is not."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        message, _, place = str(error).replace("`", "").partition(" - at ")
        is_key, place = place.startswith("key in "), place.partition("$")[2]
        steps = _with_keys(re.findall(r"\.?([^.\[\]]+|\.\.\.)", place), value, kind)
        problem = _in_words(message, reduce(_step, steps, value))
        if is_key:
            problem = f"has a key that {problem}"
        if problem.endswith(" is missing"):
            steps, problem = [*steps, problem.removesuffix(" is missing")], "is missing"
        name = "".join(f"[{step}]" if step.isdecimal() else f".{step}" for step in steps)
        raise WrongFieldError(name.removeprefix("."), problem) if name else ValueError(problem) from None


def _step(value: Any, step: str) -> Any:
    """The part of a list or an object; keys of objects are text or numbers."""
    return value[int(step)] if step.isdecimal() and step not in value else value[step]


def _with_keys(steps: list[str], value: Any, kind: Any) -> list[str]:
    """The place with the keys of objects, which msgspec leaves out: the first entry that fails alone."""
    for number, step in enumerate(steps):
        for key in reduce(_step, steps[:number], value) if step == "..." else ():
            try:
                msgspec.convert(_with_one(value, steps[:number], key), kind)
            except msgspec.ValidationError:
                return _with_keys([*steps[:number], str(key), *steps[number + 1 :]], value, kind)
    return steps


def _with_one(value: Any, steps: list[str], key: Any) -> Any:
    """A copy of `value` in which the object at `steps` has one entry alone."""
    if not steps:
        return {key: value[key]}
    inner = _with_one(_step(value, steps[0]), steps[1:], key)
    if isinstance(value, list):
        return [inner if number == int(steps[0]) else item for number, item in enumerate(value)]
    return {name: inner if str(name) == steps[0] else item for name, item in value.items()}


def _in_words(message: str, value: Any) -> str:
    """msgspec's message, with the value."""
    if field := re.fullmatch("Object missing required field (.+)", message):
        return f"{field[1]} is missing"
    if length := re.fullmatch(r"Expected array of length (\d+), got (\d+)", message):
        return f"must have {length[1]} entries, not {length[2]}"
    expected, _, got = message.removeprefix("Expected ").partition(", got ")
    _, _, limit = expected.partition(" ")
    if limit.startswith(tuple(_LIMITS)):
        sign, bound = limit.split()
        words = f"{_LIMITS[sign]} {float(bound):g}"
    else:
        words = " or ".join(_WORDS.get(name, f"a {name}") for name in expected.split(" | "))
    plain = isinstance(value, str | int | float)
    given = shortened(json.dumps(value), 40) if plain else _WORDS.get(got, f"a {got}")
    return f"must be {words}, not {given}"


def require_kind(name: str, value: Any, kind: Any) -> None:
    """For rules: a part of a value is of this type."""
    try:
        convert(value, kind)
    except WrongFieldError as error:
        raise WrongFieldError(f"{name}.{error.place}", error.problem) from None
    except ValueError as error:
        raise WrongFieldError(name, str(error)) from None


def require_lengths(name: str, values: Any, *lengths: int) -> None:
    """For rules about lists in lists: so many, of so many each."""
    if len(values) != lengths[0]:
        raise WrongFieldError(name, f"must have {lengths[0]} entries, not {len(values)}")
    for place, value in enumerate(values) if len(lengths) > 1 else ():
        require_lengths(f"{name}[{place}]", value, *lengths[1:])


def read_record(path: Path, kind: Any, *, what: str, remedy: str, rule: Rule | None = None) -> Any:
    """The content of a JSON file as `kind`; an error calls a missing file `what`, and ends with `remedy`."""
    content = read_bytes(path, what)
    if not content.strip():
        raise UserError(f"{path} is empty; {remedy}")
    return from_json(content, kind, where=str(path), remedy=remedy, rule=rule)


def write_or_compare(path: Path, record: Mapping[str, Any], kind: Any) -> None:
    """Note how the folder of `path` is made, or make sure that it was begun in the same way."""
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


def read_records(
    path: Path, kind: Any, *, what: str, remedy: str, rule: Rule | None = None, is_log: bool = False
) -> list[Any]:
    """The lines of a file. The last line of a log is left out where a crash cut it short."""
    lines = read_bytes(path, what).split(b"\n")  # after the last line end: nothing, or half a line
    records = []
    for number, line in enumerate(lines, 1):
        if is_log and number == len(lines) and not _is_json(line):
            break
        if line.strip():
            where = f"{path} line {number}"
            records.append(from_json(line, kind, where=where, remedy=remedy, rule=rule))
    return records


def read_bytes(path: Path, what: str) -> bytes:
    if not path.exists():
        raise UserError(f"no {what} at {path}")
    if not path.is_file():  # a folder; or a pipe, which would be waited for without end
        raise UserError(f"{path} is not a file")
    return path.read_bytes()


def from_json(content: bytes | str, kind: Any, *, where: str, remedy: str, rule: Rule | None = None) -> Any:
    """JSON as a value of that type; an error begins with `where`, and ends with `remedy`."""
    try:
        value = parsed(content)
    except ValueError as error:
        raise UserError(f"{where}: {error}; {remedy}") from None
    return checked(value, kind, where=where, remedy=remedy, rule=rule)


def checked(value: Any, kind: Any, *, where: str, remedy: str, rule: Rule | None = None) -> Any:
    """A value of that type from one that is read already."""
    try:
        found = convert(value, kind)
        plain = kind.__annotations__ if is_typeddict(kind) else {}
        known: Mapping[str, Any] = getattr(kind, "__dataclass_fields__", plain)
        for name in value if known else ():
            if name not in known:
                raise WrongFieldError(str(name), f"is not known{did_you_mean(str(name), known)}")
        if rule is not None:
            rule(found)
    except ValueError as error:
        raise UserError(f"{where}: {error}; {remedy}") from None
    return found


def _is_json(content: bytes) -> bool:
    try:
        parsed(content)
    except ValueError:
        return False
    return True


def parsed(content: bytes | str) -> Any:
    """JSON as plain values; a ValueError says in words what is wrong with it."""
    try:
        return msgspec.json.decode(content)
    except UnicodeError:
        raise ValueError("not UTF-8 text") from None
    except RecursionError:
        raise ValueError("nested too deep") from None
    except msgspec.DecodeError as error:
        raise ValueError(f"not JSON, or cut short ({str(error).partition(' - at')[0]})") from None
