"""Supervised learning: cross-entropy on the labelled images alone."""

from __future__ import annotations

import torch
from torch import nn

from recoseg.losses.pixel import pixel_cross_entropy
from recoseg.methods.base import Method
from recoseg.methods.teacher import Teacher
from recoseg.types import Batch, PseudoLabels, StepOutput


class Supervised(Method):
    """With `average`, the decay of a moving average, that is evaluated as in semi-supervised methods."""

    def __init__(self, student: nn.Module, *, average: float | None = None) -> None:
        super().__init__()
        self.student = student
        self.teacher = Teacher(student, decay=average) if average is not None else None

    def step(
        self, labelled: Batch, unlabelled: Batch | None, *, iteration: int, generator: torch.Generator
    ) -> StepOutput:
        return supervised_step(self.student, labelled)

    def after_update(self, iteration: int) -> None:
        if self.teacher is not None:
            self.teacher.update(self.student, iteration)

    @property
    def evaluation_model(self) -> nn.Module:
        return self.student if self.teacher is None else self.teacher.network


def supervised_step(student: nn.Module, labelled: Batch) -> StepOutput:
    """What a step is without unlabelled images, in every method."""
    output = student(labelled.images)
    loss = pixel_cross_entropy(output.logits, labelled.labels)
    labels = PseudoLabels.of_batch(labelled)
    return StepOutput(loss=loss, parts={"supervised": loss.detach()}, pixels=[(output, labels)])
