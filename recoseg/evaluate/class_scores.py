"""The scores of each class as one table for terminal, page and files; and which classes are confused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoseg.score_names import SCORE_NAMES
from recoseg.tables import Table
from recoseg.text import hundredths


@dataclass(frozen=True)
class ClassScores:
    """`columns`: short name of a score -> its share for each class; None for a class without one."""

    names: Sequence[str]
    columns: Mapping[str, Sequence[float | None]]

    @classmethod
    def of(cls, names: Sequence[str], plain: Mapping[str, Any]) -> ClassScores:
        """From scores as they stand in a file: those that were counted."""
        found = {key: name.classes_in(plain) for key, name in SCORE_NAMES.items()}
        return cls(names, {key: values for key, values in found.items() if values is not None})

    def mean(self, score: str) -> float | None:
        """Over the classes that have one."""
        present = [value for value in self.columns[score] if value is not None]
        return sum(present) / len(present) if present else None

    def table(self) -> Table:
        """In per cent, with the means below."""
        rows = [
            [str(number), name, *(hundredths(values[number]) for values in self.columns.values())]
            for number, name in enumerate(self.names)
        ]
        return Table(
            head=("", "class", *(SCORE_NAMES[score].title for score in self.columns)),
            rows=[*rows, ["", "mean", *(hundredths(self.mean(score)) for score in self.columns)]],
            num_names=2,
            num_totals=1,
        )


def row_shares(confusion: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """(K, K): of the pixels of class [row], the share predicted as [column]; NaN without pixels."""
    counts = np.array(confusion, dtype=np.float64)
    totals = counts.sum(1, keepdims=True)
    shares: NDArray[np.float64] = counts / np.where(totals > 0, totals, np.nan)
    return shares


def confused_pairs(shares: NDArray[np.float64], *, most: int, at_least: float = 0.0) -> list[tuple[int, int]]:
    """(true class, predicted class) of the largest shares off the diagonal, the largest first."""
    wrong = np.nan_to_num(shares)
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:most]
    pairs = [
        (int(true), int(other)) for true, other in zip(*np.unravel_index(order, shares.shape), strict=True)
    ]
    return [pair for pair in pairs if wrong[pair] > 0 and wrong[pair] >= at_least]
