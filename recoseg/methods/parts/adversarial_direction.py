"""The direction in which an answer changes most: virtual adversarial training (Miyato et al., 2018)."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from recoseg.seeds import generator_on

_STEP = 1e-4
"""How far each value moves, on average, to see how the answer changes.

Much less, such as the 1e-6 in all of an image that published code takes, is rounding noise in float32."""


def adversarial_direction(
    answer: Callable[[Tensor], Tensor],
    inputs: Tensor,
    target: Tensor,
    *,
    generator: torch.Generator,
    inside: Tensor | None = None,
) -> Tensor:
    """(B, C, ., .) -> the same shape, each of length 1: one step of the power method from a random start.

    `answer` gives logits (B, K, h, w) of such inputs, and `target` are its probabilities for `inputs` as they
    are. The direction is the gradient of KL(target || answer) a small step away, which is 0 at the inputs
    themselves; of the cells `inside` (B, h, w) alone, if given. No parameter gets a gradient from this. It
    is found in float32, also under autocast, and `target` has to be: what is compared differs by very little.
    """
    with torch.enable_grad(), torch.autocast(inputs.device.type, enabled=False):
        inputs = inputs.detach().float()
        drawn = torch.randn(
            inputs.shape, generator=generator_on(inputs.device, generator), device=inputs.device
        )
        step = _STEP * math.sqrt(inputs[0].numel()) * unit_length(drawn)
        step.requires_grad_()
        changes = F.kl_div(answer(inputs + step).float().log_softmax(1), target, reduction="none").sum(1)
        if inside is not None:
            changes = changes * inside
        (gradient,) = torch.autograd.grad(changes.sum(), step)
    return unit_length(gradient)


def unit_length(vectors: Tensor) -> Tensor:
    """Each of (B, ...) divided by its length; 0 stays 0."""
    flat = vectors.flatten(1)
    flat = flat / flat.abs().amax(1, keepdim=True).clamp(min=torch.finfo(flat.dtype).tiny)  # squares hold
    return F.normalize(flat, dim=1).view_as(vectors)
