"""Growing partial labels: from one known pixel of each class to a share of the class's pixels.

The paper dilates the pixel by a 5x5 square again and again until enough of the class's pixels are
covered. After k dilations the square has radius 2k, so whether a pixel is covered depends on its distance
to the first pixel alone, and nothing has to be dilated. The square may cross other classes on its way;
only the pixels of its own class count and become labelled.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recoseg.errors import UserError
from recoseg.types import IGNORE
from recoseg.words import shortened

if TYPE_CHECKING:
    from recoseg.splits.split_file import Point

Rings = NDArray[Any]  # (H, W) whole numbers, 16 bits where they suffice

GROWTH = 2  # pixels that a dilation by 5x5 adds on each side


@dataclass(frozen=True)
class PixelBudget:
    """How much of each class is labelled in each image: one pixel, or at least a `share` of its pixels."""

    share: Fraction | None = None

    @classmethod
    def parse(cls, text: str) -> PixelBudget:
        """From "1" for one pixel, or a percentage such as "5%" or "0.5%"."""
        if text.strip() == "1":
            return cls()
        number, percent, rest = text.partition("%")
        try:
            share = exact_number(number) / 100
        except (ValueError, ZeroDivisionError):
            share = Fraction(0)
        if not percent or rest.strip() or share <= 0:
            raise UserError(
                f"pixels: expected 1 or a percentage such as 1%, 5% or 25%, got {shortened(repr(text))}"
            )
        if share > 1:
            raise UserError(
                f"pixels: a class has no more than 100% of its pixels, got {shortened(repr(text))}"
            )
        return cls(share)

    def __str__(self) -> str:
        return "1" if self.share is None else f"{float(self.share * 100):g}%"

    def visible(self, labels: NDArray[np.uint8], points: Sequence[Point]) -> NDArray[np.uint8]:
        """(H, W) labels -> the same where they may be seen, IGNORE elsewhere.

        `points` has one pixel for each class that is to be seen.
        """
        if self.share is None:
            return only_points(labels, points)
        rings = ring_numbers(labels, points)
        last = last_rings(labels, rings, [label for label, _, _ in points], self.share)
        return np.where(rings <= np.take(last, labels), labels, np.uint8(IGNORE))


def exact_number(text: str) -> Fraction:
    """A number as people write it, such as 1/8, 0.125 or 1e-3; a ValueError if it is none.

    With so small a denominator that shares of a gigapixel are counted in 64 bits; and 1e-99999999 would take
    all the memory.
    """
    if re.search(r"e[-+]?\d{3}", text, re.IGNORECASE):
        raise ValueError(text)
    return Fraction(text.strip()).limit_denominator(10**7)


def only_points(labels: NDArray[np.uint8], points: Sequence[Point]) -> NDArray[np.uint8]:
    shown = np.full_like(labels, IGNORE)
    for label, row, column in points:
        shown[row, column] = label
    return shown


def ring_numbers(labels: NDArray[np.uint8], points: Sequence[Point]) -> Rings:
    """(H, W) how many dilations of its own class's point cover a pixel; without a point it says nothing."""
    height, width = labels.shape
    kind = np.int16 if max(height, width) < 2**15 else np.int32
    starts = np.zeros((2, IGNORE + 1), dtype=kind)
    for label, row, column in points:
        starts[:, label] = row, column
    # In place and in few bits: this runs for every label that is loaded.
    rings: Rings = np.take(starts[0], labels)
    rings -= np.arange(height, dtype=kind)[:, None]
    columns = np.take(starts[1], labels)
    columns -= np.arange(width, dtype=kind)
    np.maximum(np.abs(rings, out=rings), np.abs(columns, out=columns), out=rings)
    rings += GROWTH - 1
    rings //= GROWTH
    return rings


def last_rings(
    labels: NDArray[np.uint8], rings: Rings, classes: Sequence[int], share: Fraction
) -> NDArray[np.int32]:
    """(256,) the first ring of each of the `classes` at which the share is reached; -1 for all others."""
    num_rings = int(rings.max()) + 1
    # Each class has a line of the histogram; the others share the one after.
    start = np.full(IGNORE + 1, len(classes) * num_rings, dtype=np.int32)
    start[list(classes)] = np.arange(len(classes)) * num_rings
    places = np.take(start, labels)
    places += rings
    histogram = np.bincount(places.ravel(), minlength=(len(classes) + 1) * num_rings)
    reached = histogram.reshape(-1, num_rings).cumsum(1)[:-1]  # pixels within so many dilations
    wanted = reached[:, -1:] * share.numerator
    last = np.full(IGNORE + 1, -1, dtype=np.int32)
    last[list(classes)] = (reached * share.denominator < wanted).sum(1)
    return last
