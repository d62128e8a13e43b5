"""What stays as it is while the rest of a network learns: BatchNorm layers, or the first stages whole."""

from __future__ import annotations

from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from recoseg.errors import UserError
from recoseg.models.encoders.encoder import Encoder


class FrozenBatchNorm(nn.Module):
    """What a BatchNorm layer computes in eval mode, in either mode, with nothing in it that learns.

    Its tensors have the names of BatchNorm's, so weights pass between the two. All of them are buffers:
    neither an optimiser nor `requires_grad_` nor a conversion to SyncBatchNorm finds anything to change.
    """

    weight: Tensor | None
    bias: Tensor | None
    running_mean: Tensor
    running_var: Tensor

    def __init__(self, norm: _BatchNorm) -> None:
        super().__init__()
        self.eps = norm.eps
        for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
            tensor = getattr(norm, name)
            self.register_buffer(name, None if tensor is None else tensor.detach())

    def forward(self, x: Tensor) -> Tensor:
        return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)


def freeze_batch_norm(network: nn.Module, which: Literal["encoder", "all"]) -> int:
    """Put `FrozenBatchNorm` in place of all BatchNorm layers, or of the encoder's; returns how many."""
    part = getattr(network, "encoder", None) if which == "encoder" else network
    if not isinstance(part, nn.Module):
        raise UserError(
            f"frozen BatchNorm 'encoder': {type(network).__name__} has no part named encoder; "
            "freeze all of it, or none"
        )
    norms = {module for module in part.modules() if isinstance(module, _BatchNorm)}
    if not norms:
        raise UserError(
            f"frozen BatchNorm {which!r} has no effect: no BatchNorm layer in {type(part).__name__}; "
            "set it to none"
        )
    _replace(norms, part)
    return len(norms)


def freeze_stages(encoder: Encoder, count: int) -> None:
    """The first `count` stages keep their weights and BatchNorm statistics, and need no backward pass."""
    stages = encoder.stages()
    if not 0 <= count < len(stages):
        raise UserError(
            f"frozen stages: {type(encoder).__name__} has {len(stages)}, and at least the last must learn; "
            f"got {count}"
        )
    layers = [layer for stage in stages[:count] for layer in stage]
    for layer in layers:
        layer.requires_grad_(False)
    norms = {module for layer in layers for module in layer.modules() if isinstance(module, _BatchNorm)}
    _replace(norms, encoder)


def _replace(norms: set[_BatchNorm], within: nn.Module) -> None:
    """Put a `FrozenBatchNorm` wherever one of `norms` is; a layer that is used twice stays one layer."""
    frozen: dict[_BatchNorm, FrozenBatchNorm] = {}
    for parent in list(within.modules()):
        for name, child in parent._modules.items():  # named_children leaves out a layer's second place
            if isinstance(child, _BatchNorm) and child in norms:
                if child.running_mean is None:
                    raise UserError(f"a BatchNorm layer without running statistics ({name}) cannot be frozen")
                parent._modules[name] = frozen.setdefault(child, FrozenBatchNorm(child))
