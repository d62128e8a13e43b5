"""Clicks compared with predictions from before they were learned: agreement and calibrated probabilities."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from recoseg.files import write_whole

_FILE = "comparisons.json"
_LATEST, _MOST_PAIRS = 50, 200
"""Clicks that the agreement is a share of, and points of its curve."""

_MOST_LOGITS = 200
_TEMPERATURES = np.geomspace(0.25, 16, 49)
_DOUBT = 2
"""The calibrated probabilities are a mean of the classifier's and of this many clicks on any class."""


@dataclass(frozen=True)
class Comparison:
    """A click, and the prediction of its pixel before it was learned from."""

    class_id: int
    guess: int
    classes: tuple[int, ...] = ()  # (K,) ids of the logits
    logits: tuple[float, ...] = ()

    @property
    def is_right(self) -> bool:
        return self.class_id == self.guess


def read_comparisons(folder: Path) -> list[Comparison]:
    """Those that `write_comparisons` left; none where there is no whole file."""
    with suppress(OSError, ValueError, TypeError):
        rows = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        return [
            Comparison(int(one), int(guess), tuple(map(int, classes)), tuple(map(float, logits)))
            for one, guess, classes, logits in rows
        ]
    return []


def write_comparisons(folder: Path, comparisons: Sequence[Comparison]) -> None:
    """All of them, and the logits of the latest."""
    first = len(comparisons) - _MOST_LOGITS
    rows = [
        (one.class_id, one.guess, *((one.classes, one.logits) if number >= first else ((), ())))
        for number, one in enumerate(comparisons)
    ]
    write_whole(folder / _FILE, json.dumps(rows))


def fit_temperature(comparisons: Sequence[Comparison]) -> float:
    """What to divide logits by so that clicks are as probable as they were before they were learned from."""
    counted = [one for one in comparisons if one.class_id in one.classes][-_MOST_LOGITS:]
    losses = np.log(_TEMPERATURES) ** 2  # without clicks: 1
    for one in counted:
        scaled = np.array(one.logits)[None] / _TEMPERATURES[:, None]  # (temperatures, K)
        place = one.classes.index(one.class_id)
        losses = losses + np.logaddexp.reduce(scaled, axis=1) - scaled[:, place]
    return float(_TEMPERATURES[losses.argmin()])


def calibrate(logits: Tensor, *, temperature: float, evidence: float) -> Tensor:
    """(K, ...) logits -> probabilities: none is near one while there is little evidence (in clicks)."""
    probabilities = (logits / temperature).softmax(0)
    return (evidence * probabilities + _DOUBT / len(logits)) / (evidence + _DOUBT)


def agreement(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Share of the latest clicks at which the prediction was right, over all and by class, and its course."""
    if not comparisons:
        return {"count": 0, "latest": None, "curve": [], "classes": {}}
    agreed = [one.is_right for one in comparisons]
    sums = np.concatenate(([0], np.cumsum(agreed)))
    ends = np.arange(1, len(sums))
    starts = np.maximum(0, ends - _LATEST)
    shares = (sums[ends] - sums[starts]) / (ends - starts)
    shown = np.unique(np.linspace(0, len(ends) - 1, min(len(ends), _MOST_PAIRS)).round().astype(int))
    curve = [[int(ends[k]), round(float(shares[k]), 4)] for k in shown]
    classes: dict[str, list[int]] = {}
    for one in comparisons[-_LATEST:]:
        right, count = classes.get(str(one.class_id), (0, 0))
        classes[str(one.class_id)] = [right + one.is_right, count + 1]
    return {"count": len(agreed), "latest": curve[-1][1], "curve": curve, "classes": classes}
