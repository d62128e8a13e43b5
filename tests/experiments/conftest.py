"""Results that nobody measured."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recoseg.experiments.plan.grids import COLUMNS
from recoseg.experiments.tables.results import Result


@pytest.fixture(scope="session")
def result_of() -> Callable[..., Result]:
    """A result by its row, column and seed, with its mean IoU in per cent."""

    def make(row: str, column: str, seed: int, percent: float, **changed: object) -> Result:
        plain = {
            "profile": "tiny", "column": column, "row": row, "seed": seed, "subset": COLUMNS[column].subset,
            "pixels": 10**6, "mean_iou": percent / 100, "accuracy": 0.9, "boundary_iou": None,
            "boundary_f_score": None, "iou": {}, "curve": (), "iterations": 1200, "seconds": 60.0,
            "machine": "a", "versions": "b",
        }  # fmt: skip
        return Result(**{**plain, **changed})

    return make
