"""A depthwise convolution whose gradients are fast on a CPU where torch's own are not.

oneDNN has fast ways back for undilated kernels of 3x3 alone; others take 5 to 40 times as long as they
should, a tenth to a third of a whole training step of MobileNetV2 or EfficientNet-Lite.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


class DepthwiseConv2d(nn.Conv2d):
    """One odd kernel for each channel, without bias; padded so that stride 1 keeps the size."""

    def __init__(self, channels: int, kernel: int, *, stride: int = 1, dilation: int = 1) -> None:
        padding = dilation * (kernel // 2)
        super().__init__(
            channels, channels, kernel, stride, padding, dilation=dilation, groups=channels, bias=False
        )

    def forward(self, x: Tensor) -> Tensor:
        if self.stride[0] == 1:
            return depthwise_conv2d(x, self.weight, self.dilation[0])
        return super().forward(x)


def depthwise_conv2d(x: Tensor, weight: Tensor, dilation: int) -> Tensor:
    """(B, C, H, W) and an odd kernel (C, 1, k, k) -> (B, C, H, W), padded with zeros."""
    if _has_slow_gradients(x, weight, dilation):
        result: Tensor = _Depthwise.apply(x, weight, dilation)  # type: ignore[no-untyped-call]
        return result
    return _convolved(x, weight, dilation)


def _has_slow_gradients(x: Tensor, weight: Tensor, dilation: int) -> bool:
    on_cpu = x.device.type == "cpu" and x.dtype == weight.dtype == torch.float32
    return (
        on_cpu
        and (dilation > 1 or weight.shape[2] > 3)
        and torch.is_grad_enabled()
        and (x.requires_grad or weight.requires_grad)
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()  # nor exporting
    )


def _convolved(x: Tensor, weight: Tensor, dilation: int) -> Tensor:
    return F.conv2d(x, weight, None, 1, dilation * (weight.shape[2] // 2), dilation, x.shape[1])


class _Depthwise(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, dilation: int) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.dilation = dilation
        return _convolved(x, weight, dilation)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_output: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        x, weight = ctx.saved_tensors
        of_input = of_weight = None
        if ctx.needs_input_grad[0]:  # the same convolution, with its kernel turned round
            of_input = _convolved(of_output, weight.flip(2, 3), ctx.dilation)
        if ctx.needs_input_grad[1]:
            of_weight = _gradient_of_weight(x, of_output, weight.shape[2], ctx.dilation)
        return of_input, of_weight, None


def _gradient_of_weight(x: Tensor, of_output: Tensor, side: int, dilation: int) -> Tensor:
    """(C, 1, side, side): for each place of the kernel, what it read times what became of it, summed up."""
    x, of_output = x.permute(0, 2, 3, 1), of_output.permute(0, 2, 3, 1)  # (B, H, W, C)
    gradient = x.new_zeros(x.shape[3], 1, side, side)
    shifts = [(place - side // 2) * dilation for place in range(side)]
    for row, down in enumerate(shifts):
        for column, right in enumerate(shifts):
            read = _shifted(_shifted(x, 1, down), 2, right)
            written = _shifted(_shifted(of_output, 1, -down), 2, -right)
            gradient[:, 0, row, column] = (read * written).sum((0, 1, 2))
    return gradient


def _shifted(x: Tensor, dim: int, shift: int) -> Tensor:
    """Without the first `shift` entries, or the last -`shift`; nothing is left where that is all."""
    left = max(0, x.shape[dim] - abs(shift))
    return x.narrow(dim, x.shape[dim] - left if shift > 0 else 0, left)
