"""Partial labels, full dataset: of each class in each labelled image, one pixel or a share of its pixels.

A split keeps one pixel for each class and image; `PixelBudget` grows it whenever the label is loaded. The
paper dilates the pixel by a 5x5 square again and again until enough of the class's pixels are covered.
After k dilations the square has radius 2k, so whether a pixel is covered depends on its distance to the first
pixel alone, and nothing has to be dilated. The square may cross other classes on its way; only the pixels
of its own class count and become labelled.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recoseg.data.dataset import Dataset
from recoseg.data.worker_processes import Progress, in_processes_if_slow
from recoseg.errors import UserError
from recoseg.text import shortened
from recoseg.types import IGNORE

if TYPE_CHECKING:
    from recoseg.splits.label_split import LabelSplit


Point = tuple[int, int, int]  # class, row, column
_Rings = NDArray[Any]  # (H, W) whole numbers, 16 bits where they suffice

_GROWTH = 2  # pixels that a dilation by 5x5 adds on each side


# Drawing one pixel of each class


def few_pixels(
    dataset: Dataset,
    split: LabelSplit,
    *,
    pixels: PixelBudget,
    seed: int,
    num_workers: int = 1,
    progress: Progress | None = None,
) -> LabelSplit:
    """`split`, with only a few pixels of its labelled images visible."""
    points: dict[str, tuple[Point, ...]] = {}
    counts = np.zeros(len(dataset.classes), dtype=np.int64)
    drawn = in_processes_if_slow(
        _DrawPoints(dataset, seed), split.labelled, num_workers=num_workers, progress=progress
    )
    for key, found in zip(split.labelled, drawn, strict=True):
        points[key] = found
        counts[[label for label, _, _ in found]] += 1
    if not counts.any():
        raise UserError("no labelled image has a pixel with a class")
    return replace(
        split,
        builder="few_pixels" if split.builder == "all_labels" else f"{split.builder}, few_pixels",
        settings={**split.settings, "pixels": str(pixels)},
        seed=seed,
        class_counts=dict(zip(dataset.classes.names, counts.tolist(), strict=True)),
        pixels=str(pixels),
        points=points,
    )


@dataclass(frozen=True)
class _DrawPoints:
    """One pixel of each class in the labels of a key."""

    dataset: Dataset
    seed: int

    def __call__(self, key: str) -> tuple[Point, ...]:
        return draw_points(self.dataset.labels(key).numpy(), key=key, seed=self.seed)


def draw_points(labels: NDArray[np.uint8], *, key: str, seed: int) -> tuple[Point, ...]:
    """Each pixel of a class is as likely as any other.

    Which one it is follows from a hash of seed, key and class: the same on every machine, and other
    images have no part in it.
    """
    points = []
    for label in np.flatnonzero(np.bincount(labels.ravel(), minlength=IGNORE + 1)[:IGNORE]).tolist():
        places = np.flatnonzero(labels == label)
        digest = hashlib.sha256(f"{seed}/{label}/{key}".encode()).digest()
        place = int(places[int.from_bytes(digest[:16], "big") % len(places)])
        points.append((label, *divmod(place, labels.shape[1])))
    return tuple(points)


# Growing it


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
            return _only_points(labels, points)
        rings = _ring_numbers(labels, points)
        last = _last_rings(labels, rings, [label for label, _, _ in points], self.share)
        return np.where(rings <= np.take(last, labels), labels, np.uint8(IGNORE))


def exact_number(text: str) -> Fraction:
    """A number as people write it, such as 1/8, 0.125 or 1e-3; a ValueError if it is none.

    With so small a denominator that shares of a gigapixel are counted in 64 bits; and 1e-99999999 would take
    all the memory.
    """
    if re.search(r"e[-+]?\d{3}", text, re.IGNORECASE):
        raise ValueError(text)
    return Fraction(text.strip()).limit_denominator(10**7)


def _only_points(labels: NDArray[np.uint8], points: Sequence[Point]) -> NDArray[np.uint8]:
    shown = np.full_like(labels, IGNORE)
    for label, row, column in points:
        shown[row, column] = label
    return shown


def _ring_numbers(labels: NDArray[np.uint8], points: Sequence[Point]) -> _Rings:
    """(H, W) how many dilations of its own class's point cover a pixel; without a point it says nothing."""
    height, width = labels.shape
    kind = np.int16 if max(height, width) < 2**15 else np.int32
    starts = np.zeros((2, IGNORE + 1), dtype=kind)
    for label, row, column in points:
        starts[:, label] = row, column
    # In place and in few bits: this runs for every label that is loaded.
    rings: _Rings = np.take(starts[0], labels)
    rings -= np.arange(height, dtype=kind)[:, None]
    columns = np.take(starts[1], labels)
    columns -= np.arange(width, dtype=kind)
    np.maximum(np.abs(rings, out=rings), np.abs(columns, out=columns), out=rings)
    rings += _GROWTH - 1
    rings //= _GROWTH
    return rings


def _last_rings(
    labels: NDArray[np.uint8], rings: _Rings, classes: Sequence[int], share: Fraction
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
