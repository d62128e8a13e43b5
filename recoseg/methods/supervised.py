"""Supervised learning: cross-entropy on the labelled images alone."""

from __future__ import annotations

from torch import nn

from recoseg.losses.pixel import pixel_cross_entropy
from recoseg.methods.base import Method
from recoseg.types import Batch, PseudoLabels, StepOutput


class Supervised(Method):
    def __init__(self, student: nn.Module) -> None:
        super().__init__()
        self.student = student

    def step(self, labelled: Batch) -> StepOutput:
        output = self.student(labelled.images)
        loss = pixel_cross_entropy(output.logits, labelled.labels)
        return StepOutput(
            loss=loss,
            parts={"supervised": loss},
            pixels=[(output, PseudoLabels.certain(labelled.labels))],
        )
