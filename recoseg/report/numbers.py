"""How the page writes numbers: one way for each kind, and a dash for what does not exist."""

from __future__ import annotations

DASH = "–"


def percent(share: float | None) -> str:
    """0.4126 as 41.3%."""
    return DASH if share is None else f"{share:.1%}"


def hundredths(share: float | None) -> str:
    """0.4126 as 41.3, where a heading says that it is per cent."""
    return DASH if share is None else f"{100 * share:.1f}"


def points(difference: float) -> str:
    """A difference of shares with its sign: 0.021 as +2.1, -0.021 as −2.1."""
    rounded = round(100 * difference, 1)
    return "±0.0" if rounded == 0 else f"{rounded:+.1f}".replace("-", "−")


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
