"""What scores are called: once for files, terminal, page, pictures and tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ScoreName:
    """A score of each class, and the one number that it comes to; where a file of scores has them."""

    title: str
    overall_title: str
    of_classes: tuple[str, ...]  # the names on the way to it: of an object, and of what is in that
    overall: tuple[str, ...]

    def classes_in(self, plain: Mapping[str, Any]) -> list[float | None] | None:
        """A score for each class; None where nobody counted it."""
        found: list[float | None] | None = _found(plain, self.of_classes)
        return found

    def overall_in(self, plain: Mapping[str, Any]) -> float | None:
        found: float | None = _found(plain, self.overall)
        return found


def _found(plain: Any, names: tuple[str, ...]) -> Any:
    for name in names:
        plain = plain.get(name) if plain else None
    return plain


SCORE_NAMES = {
    "iou": ScoreName("IoU", "Mean IoU", ("iou",), ("mean_iou",)),
    "accuracy": ScoreName("Accuracy", "Pixel accuracy", ("class_accuracy",), ("accuracy",)),
    "boundary_iou": ScoreName("Boundary IoU", "Boundary IoU", ("boundary", "iou"), ("boundary", "mean_iou")),
    "boundary_f": ScoreName(
        "Boundary F", "Boundary F", ("boundary", "f_score"), ("boundary", "mean_f_score")
    ),
    "near_iou": ScoreName(
        "IoU near contours", "IoU near contours", ("boundary", "near_iou"), ("boundary", "near_mean_iou")
    ),
}
"""Short name -> score. What else can be measured stands in `evaluate.METRICS`, each with its own title."""

LAST_WEIGHTS = "last"
"""Weights that a run is scored with: those of the last step, where no moving average of them is kept."""
