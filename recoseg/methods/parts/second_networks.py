"""Networks besides the student: asked without learning anything from it, or at rest in a step."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def untouched(network: nn.Module) -> Tensor:
    """0, with a gradient of 0 for each parameter: processes that train together wait for all gradients."""
    return torch.stack([parameter.flatten()[:0].sum() for parameter in network.parameters()]).sum()
