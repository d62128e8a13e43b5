"""Networks besides the student: asked without learning anything from it, or at rest in a step."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call


def without_learning(network: nn.Module, *inputs: Tensor) -> Any:
    """What `network(*inputs)` says, with gradients for the inputs and none for the network.

    BatchNorm's running statistics stay as they are too: a network that is asked and taught in the same step
    counts its batch once.
    """
    fixed = {name: parameter.detach() for name, parameter in network.named_parameters()}
    fixed |= {name: buffer.clone() for name, buffer in network.named_buffers()}
    return functional_call(network, fixed, inputs)


def untouched(network: nn.Module) -> Tensor:
    """0, with a gradient of 0 for each parameter: processes that train together wait for all gradients."""
    return torch.stack([parameter.flatten()[:0].sum() for parameter in network.parameters()]).sum()
