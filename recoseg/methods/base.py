"""What the training loop asks of a method."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import nn
from torch.optim import Optimizer

from recoseg.types import Batch, StepOutput


class Method(nn.Module, ABC):
    """One algorithm: batches in, loss out. Its networks are submodules, so its state is its `state_dict`.

    `step` is also what `forward` does, so that `DistributedDataParallel` can be put around a method.
    """

    student: nn.Module
    needs_unlabelled = False

    @abstractmethod
    def step(
        self, labelled: Batch, unlabelled: Batch | None, *, iteration: int, generator: torch.Generator
    ) -> StepOutput:
        """The losses of iteration number `iteration`, from 0; `unlabelled` is None where none are needed."""

    def forward(
        self, labelled: Batch, unlabelled: Batch | None, *, iteration: int, generator: torch.Generator
    ) -> StepOutput:
        return self.step(labelled, unlabelled, iteration=iteration, generator=generator)

    def uses_unlabelled(self, iteration: int) -> bool:
        """Whether that iteration looks at unlabelled images at all."""
        return self.needs_unlabelled

    def after_update(self, iteration: int) -> None:
        """Called once the optimiser has moved the student."""

    def own_optimisers(self) -> dict[str, Optimizer]:
        """Optimisers of networks other than the student, by name; they follow the same schedule."""
        return {}

    @property
    def evaluation_model(self) -> nn.Module:
        """The network that is evaluated, saved and used afterwards."""
        return self.student
