"""Curves of a run, as its logs tell them: (iteration, value), for the page and for pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

Log = Sequence[dict[str, Any]]
"""The lines of metrics.jsonl or losses.jsonl."""

Point = tuple[float, float]

_MOST_POINTS = 120
"""A longer line is drawn through the means of neighbours."""

_NOT_PARTS = {"iteration", "lr", "loss", "stats", "seconds", "waited"}


def curve(log: Log, value: str) -> list[Point]:
    """(iteration, value) of the lines that have one: a run may diverge, or count no pixel."""
    found = [(line["iteration"], line[value]) for line in log if line.get(value) is not None]
    return [(float(iteration), float(y)) for iteration, y in found if math.isfinite(y)]


def loss_parts(losses: Sequence[Log]) -> list[str]:
    """The names of all parts of the losses of some runs, in order of appearance.

    A sole part is the loss itself and needs no chart: then there are none.
    """
    names = dict.fromkeys(key for log in losses for line in log for key in line if key not in _NOT_PARTS)
    return list(names) if len(names) > 1 else []


def stats(losses: Log) -> Log:
    """What the log tells beside losses, with its iteration."""
    return [{"iteration": line["iteration"], **line["stats"]} for line in losses if line.get("stats")]


def thinned(points: Sequence[Point], most: int = _MOST_POINTS) -> list[Point]:
    """At most `most` points: groups of neighbours become their mean, placed at the group's end."""
    size = max(1, math.ceil(len(points) / most))
    groups = [points[start : start + size] for start in range(0, len(points), size)]
    return [(group[-1][0], sum(y for _, y in group) / len(group)) for group in groups]
