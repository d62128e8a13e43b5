"""When unlabelled images join the training, and how their weight grows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from recoseg.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Ramp:
    """Weight 0 in the first `supervised_start` iterations; over the next `ramp` ones it grows to 1.

    It grows as a line; or, as in Mean Teacher and its heirs, slowly first: exp(-5 (1 - t)^2), `sigmoid`.
    """

    supervised_start: int = 0
    ramp: int = 0
    shape: Literal["line", "sigmoid"] = "line"

    def __post_init__(self) -> None:
        for name in ("supervised_start", "ramp"):
            if getattr(self, name) < 0:
                raise UserError(f"{name} is a number of iterations, at least 0, got {getattr(self, name)}")

    def has_begun(self, iteration: int) -> bool:
        return iteration >= self.supervised_start

    def weight(self, iteration: int) -> float:
        """1 without a ramp; with one, the first iteration after the start already has a share of it."""
        since = iteration - self.supervised_start
        if self.shape == "line" or since < 0:
            return min(1.0, max(0, since + 1) / (self.ramp + 1))
        return math.exp(-5 * (1 - min(1.0, since / max(1, self.ramp))) ** 2) if self.ramp else 1.0
