"""Predictions and truth, batch by batch -> Scores: counts that do not grow with the number of images."""

from __future__ import annotations

import torch
from torch import Tensor

from recoseg.distributed import sum_over_processes
from recoseg.evaluate.boundary import BoundaryCounter, BoundaryRule
from recoseg.evaluate.confusion import confusion_matrix
from recoseg.types import Scores


class ScoreCounter:
    """Counts on its device; with a `boundary` rule also where classes meet."""

    def __init__(
        self,
        num_classes: int,
        *,
        boundary: BoundaryRule | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        self.num_classes = num_classes
        self.confusion = torch.zeros(num_classes, num_classes, dtype=torch.int64, device=device)
        self.boundary = BoundaryCounter(num_classes, boundary, device=device) if boundary else None

    def add(self, predicted: Tensor, labels: Tensor) -> None:
        """(B, H, W) uint8 both, IGNORE where a pixel has no label."""
        self.confusion += confusion_matrix(predicted, labels, self.num_classes)
        if self.boundary is not None:
            self.boundary.add(predicted, labels)

    def take(self, other: ScoreCounter) -> None:
        """Add what another has counted by the same rule."""
        self.confusion += other.confusion
        if self.boundary is not None and other.boundary is not None:
            self.boundary.take(other.boundary)

    def scores(self) -> Scores:
        """Of everything added so far, by all processes: all of them must call this."""
        boundary = self.boundary.scores() if self.boundary is not None else None
        return Scores(sum_over_processes(self.confusion).cpu(), boundary)
