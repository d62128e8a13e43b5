"""Supervised learning: cross-entropy on the labelled images alone."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from recoseg.methods.method import Method
from recoseg.methods.parts.ema_teacher import Teacher
from recoseg.types import Batch, StepOutput


class Supervised(Method):
    """With `average`, the decay of a moving average, that is evaluated as in semi-supervised methods."""

    def __init__(
        self,
        student: nn.Module,
        *,
        average: float | None = None,
        warm_up: Literal["mean", "fast"] = "mean",
        class_weights: Tensor | None = None,
    ) -> None:
        super().__init__(student, class_weights=class_weights)
        self.teacher = Teacher(student, decay=average, warm_up=warm_up) if average is not None else None

    def step(
        self, labelled: Batch, unlabelled: Batch | None, *, iteration: int, generator: torch.Generator
    ) -> StepOutput:
        return self.supervised_step(labelled)

    def after_update(self, iteration: int) -> None:
        if self.teacher is not None:
            self.teacher.update(self.student, iteration)

    @property
    def evaluation_model(self) -> nn.Module:
        return self.student if self.teacher is None else self.teacher.network
