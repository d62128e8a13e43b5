"""Words for people."""

from __future__ import annotations

from collections.abc import Sequence


def listed(words: Sequence[str], *, last: str = "and") -> str:
    """a; a and b; a, b and c."""
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def shortened(text: str, most: int = 100) -> str:
    """The text, or its start."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def is_text(name: str) -> bool:
    """Whether a name can be written down: bytes that are not UTF-8 reach us as halves of characters."""
    return "\0" not in name and name == name.encode(errors="ignore").decode()


def printable(text: str) -> str:
    """The text with all that a terminal would act on, or could not show, spelled out: \\x1b, \\udcff."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
