"""What the training loop asks of a method."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import nn

from recoseg.types import Batch, StepOutput


class Method(nn.Module, ABC):
    """One algorithm: batches in, loss out. Its networks are submodules, so its state is its `state_dict`."""

    student: nn.Module

    @abstractmethod
    def step(self, labelled: Batch) -> StepOutput:
        """The losses of one iteration."""

    @property
    def evaluation_model(self) -> nn.Module:
        """The network that is evaluated, saved and used afterwards."""
        return self.student
