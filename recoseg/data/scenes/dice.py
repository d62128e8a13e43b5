"""Random numbers that are the same on every machine and with every version of NumPy.

Only the raw bits of PCG64 are used, which NumPy promises never to change; the methods of
`np.random.Generator` carry no such promise, and some of them round differently between compilers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_T = TypeVar("_T")


class Dice:
    """A stream of random choices, given by the integers that it is seeded with."""

    def __init__(self, *entropy: int) -> None:
        self._bits = np.random.PCG64(np.random.SeedSequence(entropy))

    def split(self) -> Dice:
        """A new stream: what is drawn from it leaves this one unmoved."""
        return Dice(int(self._bits.random_raw()))

    def fraction(self) -> float:
        """A number in [0, 1)."""
        return float(int(self._bits.random_raw()) >> 11) * 2.0**-53

    def between(self, low: float, high: float) -> float:
        return low + (high - low) * self.fraction()

    def count(self, low: int, high: int) -> int:
        """An integer from `low` to `high`, both included."""
        return low + ((int(self._bits.random_raw()) >> 32) * (high - low + 1) >> 32)

    def chance(self, probability: float) -> bool:
        return self.fraction() < probability

    def sign(self) -> int:
        return 1 if self.chance(0.5) else -1

    def choice(self, options: Sequence[_T]) -> _T:
        return options[self.count(0, len(options) - 1)]

    def bytes(self, *shape: int) -> NDArray[np.uint8]:
        """Random bytes of the given shape."""
        size = 1
        for length in shape:
            size *= length
        raw = np.asarray(self._bits.random_raw(-(-size // 8)), dtype="<u8")  # little-endian everywhere
        return raw.view(np.uint8)[:size].reshape(shape)
