"""List files such as val.txt: one key a line, in double quotes where a plain line would not bring it back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from recoseg.errors import UserError


def list_text(keys: Iterable[str]) -> str:
    """The lines of a list file, which `numbered_lines` and `spelled_key` read back as these keys."""
    return "".join(f"{_line_of(key)}\n" for key in keys)


def _line_of(key: str) -> str:
    """A key as it is; with outer spaces, line ends, backslashes and the like as a JSON string in ASCII."""
    reads_back = key == key.strip() and key.isprintable() and "\\" not in key and key[:1] not in ("#", '"')
    return key if reads_back else json.dumps(key)


def spelled_key(line: str) -> str | None:
    """The key that a line in double quotes spells; None for a plain line."""
    if not line.strip().startswith('"'):
        return None
    try:
        key = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return key if isinstance(key, str) else None


def numbered_lines(path: Path) -> list[tuple[int, str]]:
    """Lines that say something, as they are, with their number; `#` starts a comment line.

    Only a newline ends a line (and a carriage return before it): names may hold what else Unicode calls one.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")  # Windows editors put a mark in front
    except FileNotFoundError:
        raise UserError(f"no list file at {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read the list {path} ({error}); save it as plain UTF-8 text") from None
    lines = enumerate(re.split(r"\r?\n", text), start=1)
    return [(number, line) for number, line in lines if line.strip() and not line.strip().startswith("#")]
