"""How things are written for people: names fit for a terminal, lists, near misses of a name, numbers."""

from __future__ import annotations

import math
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TypeVar

from recoseg.errors import UserError

_STEERING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Kinds of characters that steer a terminal, turn the direction of text, end a line, or are none."""

_JOINERS = "\u200c\u200d"
"""Of these kinds too, but parts of words in Persian, and of pictures."""


def printable(text: str) -> str:
    """Text from outside (names of classes and files) for a terminal: what would steer it is shown escaped."""
    if text.isprintable():
        return text
    return "".join(
        one.encode("unicode_escape").decode()
        if unicodedata.category(one) in _STEERING and one not in _JOINERS
        else one
        for one in text
    )


def require_plain_name(name: str, *, what: str) -> None:
    """`UserError` for a name with line ends, control characters or ones that turn the direction of text."""
    if printable(name) != name:
        raise UserError(f"{what} {name!r} has line ends, control or direction characters; remove these")


def listed(words: Sequence[str], *, last: str = "and") -> str:
    """a; a and b; a, b and c."""
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def natural_order(name: str) -> list[str | int]:
    """A key for sorting: 2 before 10."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]


def shortened(text: str, most: int = 100) -> str:
    """The text, or its start."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


_TOKEN = re.compile(r"hf_\w{4,}")


def without_tokens(text: str) -> str:
    """The text without access tokens of the Hugging Face Hub, which an answer of a server may repeat."""
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        token = os.environ.get(name, "").strip()
        text = text.replace(token, "***") if token else text
    return _TOKEN.sub("***", text)


def is_text(name: str) -> bool:
    """Whether a name can be written down: bytes that are not UTF-8 reach us as halves of characters."""
    return "\0" not in name and name == name.encode(errors="ignore").decode()


_Value = TypeVar("_Value")


def lookup(table: Mapping[str, _Value], name: str, *, what: str) -> _Value:
    """`table[name]`, or a `UserError` that lists the names and the nearest one. `what` names the table."""
    if isinstance(name, str) and name in table:
        return table[name]
    raise UserError(f"unknown {what} {shortened(repr(name))}{did_you_mean(str(name), table)}")


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


DASH = "–"


def percent(share: float | None, *, digits: int = 1, sign: str = "%") -> str:
    """0.4126 as 41.3%."""
    text = hundredths(share, digits=digits)
    return text if text == DASH else f"{text}{sign}"


def hundredths(share: float | None, *, digits: int = 1) -> str:
    """0.4126 as 41.3, where a heading says that it is per cent."""
    return DASH if share is None or math.isnan(share) else f"{100 * share:.{digits}f}"


def percent_of_pixels(share: float) -> str:
    """With two decimals, and 0 only for none."""
    if 0 < share < 0.00005:
        return "< 0.01 %"
    return percent(share, digits=2, sign=" %") if share else "0 %"


def points(difference: float) -> str:
    """A difference of shares with its sign: 0.021 as +2.1, -0.021 as −2.1."""
    rounded = round(100 * difference, 1)
    return "±0.0" if rounded == 0 else f"{rounded:+.1f}".replace("-", "−")


def percent_range(low: float, high: float) -> str:
    """0.402 and 0.5 as 40.2 to 50.0."""
    return f"{hundredths(low)} to {hundredths(high)}"


def points_range(low: float, high: float) -> str:
    """-0.008 and 0.031 as −0.8 to +3.1."""
    return f"{points(low)} to {points(high)}"


def count(number: float) -> str:
    """40000 as 40,000."""
    return f"{number:,.0f}"


def plain(number: float) -> str:
    """Four significant digits, no more zeros than needed."""
    return f"{number:,.4g}" if abs(number) < 10_000 else count(number)


def how_many(number: int, noun: str) -> str:
    """1 image, 2 images, 3 classes."""
    ending = "es" if noun.endswith("s") else "s"
    return f"{count(number)} {noun}{'' if number == 1 else ending}"


def clock(seconds: float) -> str:
    """3723 as 1:02:03, 63 as 1:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
