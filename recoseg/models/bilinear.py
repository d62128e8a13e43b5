"""Bilinear resizing whose gradient is fast on a CPU where torch's own is not.

torch scatters the gradient of a map in planes value by value: for logits that are enlarged fourfold that
takes longer than the cross-entropy that reads them. Two products with small matrices do the same several
times as fast.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

_LONGEST_SIDE = 128  # of the smaller map; the products cost twice as many operations for each enlarged value


def resize(x: Tensor, size: tuple[int, int] | torch.Size) -> Tensor:
    """Bilinear, to (height, width)."""
    size = (size[0], size[1])
    if _has_slow_gradient(x, size):
        result: Tensor = _Enlarged.apply(x, size)  # type: ignore[no-untyped-call]
        return result
    return _resized(x, size)


def _has_slow_gradient(x: Tensor, size: tuple[int, int]) -> bool:
    return (
        x.device.type == "cpu"
        and x.dtype in (torch.float32, torch.float64)
        and x.requires_grad
        and torch.is_grad_enabled()
        and not torch.compiler.is_compiling()  # nor exporting
        and x.is_contiguous()  # torch's gradient of channels last is no slower
        and x.shape[2] <= size[0]
        and x.shape[3] <= size[1]
        and max(x.shape[2:]) <= _LONGEST_SIDE
    )


def _resized(x: Tensor, size: tuple[int, int]) -> Tensor:
    return F.interpolate(x, size=size, mode="bilinear", align_corners=False)


class _Enlarged(torch.autograd.Function):
    """Resizing is linear along each side: Y = A X B', so the gradient of X is A' G B."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, size: tuple[int, int]) -> Tensor:
        return _resized(x, size)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, tuple[int, int]], output: Tensor) -> None:
        x, size = inputs
        ctx.sides = x.shape[2:], size

    @staticmethod
    def jvp(ctx: Any, of_x: Tensor, of_size: None) -> Tensor:
        return _resized(of_x, ctx.sides[1])

    @staticmethod
    def backward(ctx: Any, of_output: Tensor) -> tuple[Tensor, None]:
        (height, width), (rows, columns) = ctx.sides
        with torch.autocast("cpu", enabled=False):
            across = of_output @ _weights(width, columns, of_output.dtype)
            return _weights(height, rows, of_output.dtype).T @ across, None


def _weights(side: int, enlarged: int, dtype: torch.dtype) -> Tensor:
    """(enlarged, side): how much each place of the smaller side says of each place of the enlarged one."""
    alone = torch.eye(side, dtype=dtype, device="cpu")[None, None]
    return _resized(alone, (enlarged, side))[0, 0]
