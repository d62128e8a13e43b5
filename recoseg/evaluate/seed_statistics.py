"""Statistics over seeds: intervals of means, paired differences, Holm's correction and sample size."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import nctdtr, stdtr, stdtrit

from recoseg.evaluate.resampling import LEVEL, Interval
from recoseg.seeds import numpy_generator

POWER = 0.8
MOST_EXACT = 16
"""With up to that many pairs, all sign flips are counted."""

NUM_FLIPS = 65_536
"""Random sign flips for more pairs."""

_Values = Sequence[float] | NDArray[np.float64]

_MOST_PAIRS = 10**9
_LARGEST_SHIFT = 37.0
"""Noncentrality from which the power is 1 in all but name, and scipy's series loses precision."""


@dataclass(frozen=True)
class PairedDifference:
    """Second minus first, over the pairs."""

    mean: float
    interval: Interval
    spread: float  # standard deviation of the differences
    p_value: float  # paired t, two-sided
    flip_p_value: float  # sign-flip permutation, two-sided


def mean_interval(values: _Values) -> Interval | None:
    """95 % interval of the mean by Student's t; None for fewer than two values."""
    if len(values) < 2:
        return None
    mean, half = float(np.mean(values)), _critical(len(values)) * _standard_error(values)
    return Interval(mean - half, mean + half)


def score_interval(scores: Sequence[float], *, highest: float = 1.0) -> Interval | None:
    """`mean_interval` of scores, which end at 0 and `highest`."""
    found = mean_interval(scores)
    return Interval(max(0.0, found.low), min(highest, found.high)) if found else None


def paired_difference(first: Sequence[float], second: Sequence[float]) -> PairedDifference:
    """Compare two arms pair by pair; there must be at least two pairs."""
    differences = np.subtract(second, first)
    interval = mean_interval(differences)
    if interval is None:
        raise ValueError("a paired comparison needs at least two pairs")
    mean, error = float(differences.mean()), _standard_error(differences)
    # Equal differences: no spread to compare the mean with.
    p_value = 2 * float(stdtr(len(differences) - 1, -abs(mean) / error)) if error else float(mean == 0)
    spread = float(np.std(differences, ddof=1))
    return PairedDifference(mean, interval, spread, p_value, sign_flip_p_value(differences))


def is_ahead(scores: Sequence[float], others: Sequence[Sequence[float]]) -> bool:
    """Whether the 95 % intervals of all paired differences to `others` are above 0."""
    intervals = [mean_interval(np.subtract(scores, other)) for other in others]
    return all(interval is not None and interval.low > 0 for interval in intervals)


def sign_flip_p_value(differences: _Values) -> float:
    """Share of sign flips with a sum at least as far from 0: of all, or of random ones for many pairs."""
    values = np.asarray(differences, dtype=np.float64)
    number = len(values)
    if number <= MOST_EXACT:
        signs = 1 - 2 * (np.arange(2**number)[:, None] >> np.arange(number) & 1)  # (2^N, N)
    else:
        signs = 1 - 2 * numpy_generator(0, "sign flips", number).integers(0, 2, (NUM_FLIPS, number))
    # Ties count as extreme, also where sums in another order are rounded differently.
    extreme = np.abs(signs @ values) >= abs(values.sum()) - 1e-9 * np.abs(values).sum()
    if number <= MOST_EXACT:
        return float(extreme.mean())
    return (int(extreme.sum()) + 1) / (NUM_FLIPS + 1)  # the observed signs are one of the draws


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for their number by Holm's step-down method (1979)."""
    order = np.argsort(p_values, kind="stable")
    factors = len(p_values) - np.arange(len(p_values))
    corrected = np.empty(len(p_values))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(factors * np.asarray(p_values)[order]))
    return [float(value) for value in corrected]


def pairs_needed(spread: float, size: float) -> int:
    """Fewest pairs that resolve a difference of `size`: paired t test, two-sided 5 %, 80 % power."""
    if spread == 0:
        return 2

    def power(number: int) -> float:
        shift = min(size / spread * math.sqrt(number), _LARGEST_SHIFT)
        degrees, critical = number - 1, _critical(number)
        return float(1 - nctdtr(degrees, shift, critical) + nctdtr(degrees, shift, -critical))

    return 2 + bisect_left(range(2, _MOST_PAIRS), POWER, key=power)


def _critical(number: int) -> float:
    return float(stdtrit(number - 1, (1 + LEVEL) / 2))


def _standard_error(values: _Values) -> float:
    return float(np.std(values, ddof=1)) / math.sqrt(len(values))
