"""Files that recoseg wrote, read back: values of known types, or one line that names file and field."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from recoseg.errors import UserError
from recoseg.typed_values import WrongFieldError, check_of

HALVES = re.compile(r"\\u[dD][89a-fA-F]")
"""How JSON in ASCII spells the halves of characters that need two."""


def read_record(path: Path, kind: Any, *, what: str, remedy: str) -> Any:
    """What a JSON file holds, as `kind`; an error calls a missing file `what`, and says what to do."""
    content = read_bytes(path, what)
    if not content.strip():
        raise UserError(f"{path} is empty; {remedy}")
    return from_json(content, kind, where=str(path), remedy=remedy)


def read_records(path: Path, kind: Any, *, what: str, remedy: str, is_log: bool = False) -> list[Any]:
    """What the lines of a file hold. The last line of a log is left out where a crash cut it short."""
    lines = read_bytes(path, what).split(b"\n")  # after the last line end: nothing, or half a line
    records = []
    for number, line in enumerate(lines, 1):
        if is_log and number == len(lines) and not is_json(line):
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
        return check_of(kind)(value)
    except ValueError as error:
        raise UserError(f"{where}: {error}; {remedy}") from None


def is_json(content: bytes) -> bool:
    try:
        parsed(content)
    except ValueError:
        return False
    return True


def parsed(content: bytes | str) -> Any:
    """JSON as plain values; a ValueError says in words what is wrong with it."""
    try:
        text = content.decode() if isinstance(content, bytes) else content
        value = json.loads(text, object_pairs_hook=without_repeats)
        if HALVES.search(text):  # two of them are a character, one cannot be written down again
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


def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise WrongFieldError(next(name for name in names if names.count(name) > 1), "is there twice")
    return values
