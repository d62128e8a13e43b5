"""Calibration: is a network right as often as it says? The expected calibration error (Guo et al., 2017)."""

from __future__ import annotations

from typing import Any, TypedDict

import torch

from recoseg.distributed import sum_over_processes
from recoseg.evaluate.loop import Seen
from recoseg.losses.shrink_labels import shrink_labels
from recoseg.records import Share
from recoseg.text import percent
from recoseg.types import IGNORE

NUM_BINS = 15


class _Result(TypedDict):
    ece: Share | None
    bins: list[list[float]]  # pixels, sum of their confidence, those that are right: each (15,)


class Calibration:
    """Pixels by the confidence of their predicted class, in equal bins: how many, how sure, how right.

    On the grid of the network's own logits, where a cell takes the label at its centre: there confidence is
    what the network says, and a pixel in sixteen is enough.
    """

    needs_embeddings = False
    kind = _Result

    def __init__(self, num_classes: int, *, device: torch.device | str = "cpu") -> None:
        self.num_classes, self.device = num_classes, device
        self.bins = torch.zeros(3, NUM_BINS, dtype=torch.float64, device=device)  # pixels, confidence, right

    def fresh(self) -> Calibration:
        return Calibration(self.num_classes, device=self.device)

    def add(self, seen: Seen) -> None:
        for rows, columns, logits in seen.logits:
            labels = shrink_labels(seen.labels[:, rows, columns], logits.shape[2:])  # (B, h, w)
            confidence, predicted = logits.float().softmax(1).max(1)
            counted = labels != IGNORE
            confidence, right = confidence[counted].double(), (predicted == labels)[counted].double()
            place = (confidence * NUM_BINS).long().clamp(max=NUM_BINS - 1)
            values = torch.stack([torch.ones_like(confidence), confidence, right])  # (3, n)
            self.bins.index_add_(1, place, values)

    def take(self, other: Calibration) -> None:
        self.bins += other.bins

    def result(self) -> dict[str, Any]:
        """Of everything added so far, by all processes: all of them must call this."""
        pixels, confidence, right = sum_over_processes(self.bins).cpu()
        error = (confidence - right).abs().sum() / pixels.sum()  # |mean confidence - accuracy| by share
        return {
            "ece": None if error.isnan() else float(error),
            "bins": [pixels.long().tolist(), confidence.tolist(), right.long().tolist()],
        }

    @staticmethod
    def told(result: dict[str, Any]) -> tuple[str, str]:
        """What is measured, and how much it is."""
        return "Calibration error", percent(result["ece"])
