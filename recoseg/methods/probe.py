"""The baseline of all others: a linear classifier of frozen features, which takes no training steps."""

from __future__ import annotations

import torch

from recoseg.methods.method import Method
from recoseg.types import Batch, StepOutput


class Probe(Method):
    """The network as it starts with `model.start: probe`: a run of it has no steps.

    A run that was prolonged goes on as supervised learning.
    """

    def step(
        self, labelled: Batch, unlabelled: Batch | None, *, iteration: int, generator: torch.Generator
    ) -> StepOutput:
        return self.supervised_step(labelled)
