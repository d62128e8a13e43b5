"""Supervised learning: cross-entropy on the labelled images alone."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from recoseg.config.method_settings import SupervisedSettings
from recoseg.config.parse import section_of
from recoseg.methods.method import Method
from recoseg.types import Batch, StepOutput


class Supervised(Method):
    """The baseline of all others."""

    def __init__(self, student: nn.Module, **settings: Any) -> None:
        super().__init__(student, section_of(SupervisedSettings, settings))

    def step(
        self, labelled: Batch, unlabelled: Batch | None, *, iteration: int, generator: torch.Generator
    ) -> StepOutput:
        return self.supervised_step(labelled)
