"""Words for people."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

STEERING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Kinds of characters that steer a terminal, turn the direction of text, end a line, or are none."""

JOINERS = "\u200c\u200d"
"""Of these kinds too, but parts of words in Persian, and of pictures."""


def printable(text: str) -> str:
    """Text from outside (names of classes and files) for a terminal: what would steer it is shown escaped."""
    if text.isprintable():
        return text
    return "".join(
        one.encode("unicode_escape").decode()
        if unicodedata.category(one) in STEERING and one not in JOINERS
        else one
        for one in text
    )


def listed(words: Sequence[str], *, last: str = "and") -> str:
    """a; a and b; a, b and c."""
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def shortened(text: str, most: int = 100) -> str:
    """The text, or its start."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def is_text(name: str) -> bool:
    """Whether a name can be written down: bytes that are not UTF-8 reach us as halves of characters."""
    return "\0" not in name and name == name.encode(errors="ignore").decode()
