"""Scores of predictions and their formulas: confusion, IoU, accuracy, and the same where classes meet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from recoseg.errors import UserError
from recoseg.types import IGNORE


@dataclass(frozen=True)
class BoundaryScores:
    """How good predictions are where classes meet; docs/evaluating.md has the formulas.

    A class that has no such pixels, neither true nor predicted, is NaN, and left out of the means.
    """

    bands: Tensor  # (3, K) int64: pixels in the band of the class in both maps, in the truth, as predicted
    contours: Tensor  # (4, K) int64: true contour pixels, those found, predicted ones, those that are right
    confusion: Tensor  # (K, K) int64: of the pixels near true contours alone

    @property
    def iou(self) -> Tensor:  # (K,) float64
        both, true, predicted = self.bands.double().unbind()
        return both / (true + predicted - both)

    @property
    def f_score(self) -> Tensor:  # (K,) float64; 0 where contours are in one of the maps alone
        true, found, predicted, right = self.contours.double().unbind()
        recall, precision = found / true.clamp(min=1), right / predicted.clamp(min=1)
        mean = 2 * precision * recall / (precision + recall).clamp(min=1e-300)
        return mean.masked_fill(true + predicted == 0, float("nan"))

    @property
    def mean_iou(self) -> float:
        return float(self.iou.nanmean())

    @property
    def mean_f_score(self) -> float:
        return float(self.f_score.nanmean())

    @property
    def near(self) -> Scores:
        """The ordinary scores of the pixels near true contours."""
        return Scores(self.confusion)


@dataclass(frozen=True)
class Scores:
    """How good predictions are.

    A class that occurs neither in the truth nor in a prediction is NaN, and left out of the mean.
    """

    confusion: Tensor  # (K, K) int64, [true class, predicted class]
    boundary: BoundaryScores | None = None  # where they were asked for
    metrics: Mapping[str, dict[str, Any]] = field(
        default_factory=dict
    )  # of evaluate.METRICS, where they were measured
    images: Tensor | None = None  # (N, 3, K) int64, where each was counted: pixels right, true, called so

    @property
    def iou(self) -> Tensor:  # (K,) float64
        hits = self.confusion.diagonal().double()
        union = (self.confusion.sum(0) + self.confusion.sum(1)).double() - hits
        return hits / union  # 0/0 is NaN: the class is absent

    @property
    def class_accuracy(self) -> Tensor:  # (K,) float64, NaN where the class is not in the truth
        return self.confusion.diagonal().double() / self.confusion.sum(1).double()

    @property
    def mean_iou(self) -> float:
        """Mean over the classes that occur; NaN only when no pixel was counted at all."""
        return float(self.iou.nanmean())

    @property
    def accuracy(self) -> float:
        return float(self.confusion.diagonal().sum().double() / self.confusion.sum().double())

    @property
    def mean_accuracy(self) -> float:
        """Mean over the classes that are in the truth."""
        return float(self.class_accuracy.nanmean())

    @property
    def num_absent(self) -> int:
        """Classes that the mean leaves out."""
        return int(self.iou.isnan().sum())


def confusion_matrix(predicted: Tensor, labels: Tensor, num_classes: int) -> Tensor:
    """(K, K) int64: how many pixels of class [row] were called [column]; IGNORE does not count.

    Both are uint8 of one shape. What is predicted where the label is IGNORE does not matter.
    """
    # IGNORE is a row of its own, cut off at the end: cheaper than to pick out the pixels that count.
    cell = torch.add(predicted, labels.to(torch.int32), alpha=IGNORE + 1).flatten()
    counts = torch.bincount(cell, minlength=(IGNORE + 1) ** 2).view(IGNORE + 1, IGNORE + 1)
    counted = counts[:num_classes, :num_classes]
    if int(counts[:IGNORE].sum()) != int(counted.sum()):
        raise UserError(f"labels or predictions hold other classes than the {num_classes} from 0 on")
    return counted


def class_counts(labels: Tensor, num_classes: int) -> Tensor:
    """(K,) int64: how many pixels of uint8 `labels` each class has."""
    return torch.bincount(labels.flatten(), minlength=IGNORE + 1)[:num_classes]
