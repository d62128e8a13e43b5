"""Timing several actions side by side in one run, for the scripts here: ratios compare, seconds don't."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping


def side_by_side(
    actions: Mapping[str, Callable[[], object]],
    *,
    rounds: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Seconds of each action in each round, after one round that is not counted.

    Every round runs all actions, in an order that turns round by round: whatever else the machine does falls
    on all of them alike.
    """
    names = list(actions)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds + 1):
        for name in names if number % 2 else reversed(names):
            start = clock()
            actions[name]()
            if number > 0:
                seconds[name].append(clock() - start)
    return seconds


def ratio(seconds: Mapping[str, list[float]], one: str, other: str) -> float:
    """How many times as long `one` takes as `other`: the median over the rounds."""
    return statistics.median(a / b for a, b in zip(seconds[one], seconds[other], strict=True))


def ratio_of_fastest(seconds: Mapping[str, list[float]], one: str, other: str) -> float:
    """The same from the best round of each: the better figure on a machine that does other work as well."""
    return min(seconds[one]) / min(seconds[other])


def milliseconds(seconds: Mapping[str, list[float]], name: str) -> float:
    """The median of an action's times."""
    return 1000 * statistics.median(seconds[name])
