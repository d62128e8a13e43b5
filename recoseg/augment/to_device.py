"""One copy to the device for random draws, which the CPU makes so that a seed means the same everywhere."""

from __future__ import annotations

import torch
from torch import Tensor


def send_together(*tensors: Tensor, like: Tensor) -> list[Tensor]:
    """Copy CPU tensors of one type to the device of `like`, as one tensor, without a wait of the host."""
    sent = torch.cat([tensor.flatten() for tensor in tensors]).to(like.device, non_blocking=True)
    parts = torch.split(sent, [tensor.numel() for tensor in tensors])
    return [part.view(tensor.shape) for part, tensor in zip(parts, tensors, strict=True)]
