"""How near is near: a number of pixels, or a share of an image's diagonal."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, isfinite

from recoseg.errors import UserError


@dataclass(frozen=True)
class Distance:
    """`value` pixels; or, `of_diagonal`, so many hundredths of the diagonal, whatever an image's size."""

    value: float
    of_diagonal: bool = False

    def __post_init__(self) -> None:
        if not (isfinite(self.value) and self.value > 0) or (self.of_diagonal and self.value > 100):
            raise UserError(f"got {self.as_word()!r}, {ALLOWED}")

    @classmethod
    def parse(cls, text: str) -> Distance:
        """From "3" or "0.75%"."""
        number, is_share = text.strip().removesuffix("%"), text.strip().endswith("%")
        try:
            value = float(number)
        except ValueError:
            raise UserError(f"got {text!r}, {ALLOWED}") from None
        return cls(value, is_share)

    def as_word(self) -> str:
        """What `parse` reads."""
        return f"{self.value:g}{'%' if self.of_diagonal else ''}"

    def __str__(self) -> str:
        if self.of_diagonal:
            return f"{self.value:g} % of the diagonal"
        return f"{self.value:g} pixel{'' if self.value == 1 else 's'}"

    def pixels(self, height: int, width: int) -> float:
        """No more than the diagonal: nothing in an image is farther away."""
        diagonal = hypot(height, width)
        return self.value / 100 * diagonal if self.of_diagonal else min(self.value, diagonal)

    def whole_pixels(self, height: int, width: int) -> int:
        """Rounded, at least 1."""
        return max(1, round(self.pixels(height, width)))


ALLOWED = "needs pixels above 0 such as 3, or a share of the diagonal such as 0.75%"
