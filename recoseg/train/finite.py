"""Numbers that are no longer finite: a run stops before they reach a file that people rely on."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from recoseg.errors import UserError
from recoseg.types import StepOutput

REMEDY = "the last saved state is kept; a smaller optimiser.lr or train.clip 1 may help, in a new run"


def require_finite_loss(output: StepOutput, done: int, keys: Sequence[str]) -> None:
    """`done` counts iterations as the log does, from 1; `keys` are the images of the step."""
    if not torch.isfinite(output.loss):
        parts = ", ".join(f"{name} {value.item():g}" for name, value in output.parts.items())
        raise UserError(
            f"the loss is {output.loss.item()} at iteration {done} ({parts}) on images "
            f"{', '.join(keys)}; {REMEDY}"
        )


def require_finite_weights(network: nn.Module, done: int) -> None:
    """A finite loss can have a gradient that is not; the loss would tell one iteration later."""
    for name, parameter in network.named_parameters():
        if not torch.isfinite(parameter).all():
            raise UserError(f"the weights {name} are not finite after iteration {done}; {REMEDY}")
