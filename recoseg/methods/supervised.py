"""Supervised learning: cross-entropy on the labelled images alone."""

from __future__ import annotations

import torch

from recoseg.methods.method import Method
from recoseg.types import Batch, StepOutput


class Supervised(Method):
    """The baseline of all others."""

    def step(
        self, labelled: Batch, unlabelled: Batch | None, *, iteration: int, generator: torch.Generator
    ) -> StepOutput:
        return self.supervised_step(labelled)
