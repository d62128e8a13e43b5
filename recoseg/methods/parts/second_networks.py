"""Networks besides the student: asked without learning anything from it, or at rest in a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from recoseg.errors import UserError


def without_learning(network: nn.Module, *inputs: Tensor) -> Any:
    """What `network(*inputs)` says, with gradients for the inputs and none for the network.

    BatchNorm's running statistics stay as they are too: a network that is asked and taught in the same step
    counts its batch once.
    """
    fixed = {name: parameter.detach() for name, parameter in network.named_parameters()}
    fixed |= {name: buffer.clone() for name, buffer in network.named_buffers()}
    return functional_call(network, fixed, inputs)


def asked_and_taught(network: nn.Module, *inputs: Tensor) -> tuple[Tensor, Tensor]:
    """What `network(*inputs)` says, twice: the first teaches the inputs alone, the second the network alone.

    As `without_learning(network, *inputs)` and `network` of detached inputs, with one forward pass for both.
    """
    asked, taught = _OnePass.apply(network, len(inputs), *inputs, *network.parameters())  # type: ignore[no-untyped-call]
    return asked, taught


class _OnePass(torch.autograd.Function):
    """A pass with a graph of its own, gone through backwards once for each of its two answers."""

    @staticmethod
    def forward(ctx: Any, network: nn.Module, num_inputs: int, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        inputs = [one.detach().requires_grad_(one.requires_grad) for one in tensors[:num_inputs]]
        with torch.enable_grad():
            answer = network(*inputs)
        ctx.inputs, ctx.parameters, ctx.answer = inputs, tensors[num_inputs:], answer
        return answer.detach(), answer.detach().clone()

    @staticmethod
    def backward(ctx: Any, by_asking: Tensor, by_teaching: Tensor) -> tuple[Tensor | None, ...]:
        of_inputs = _gradients(ctx.answer, ctx.inputs, by_asking, retain_graph=True)
        return None, None, *of_inputs, *_gradients(ctx.answer, ctx.parameters, by_teaching)


def _gradients(
    answer: Tensor, leaves: Sequence[Tensor], given: Tensor, *, retain_graph: bool = False
) -> list[Tensor | None]:
    """None for what does not learn: frozen layers, images, and what has no part in the answer."""
    learning = [one for one in leaves if one.requires_grad]
    if not learning:
        return [None] * len(leaves)
    found = iter(torch.autograd.grad(answer, learning, given, retain_graph=retain_graph, allow_unused=True))
    return [next(found) if one.requires_grad else None for one in leaves]


def require_two_starts(method: str, first: nn.Module, second: nn.Module) -> None:
    """For a method of two networks that learn from each other: refuse two that start alike."""
    theirs = dict(second.named_parameters())
    shared = [(mine, theirs[name]) for name, mine in first.named_parameters() if name in theirs]
    if shared and all(torch.equal(mine, other) for mine, other in shared):
        raise UserError(
            f"{method} needs two networks that start differently, and these start alike: leave out "
            "model.weights (model.pretrained fills the encoder alone), or take another method"
        )


def untouched(network: nn.Module) -> Tensor:
    """0, with a gradient of 0 for each parameter: processes that train together wait for all gradients."""
    return torch.stack([parameter.flatten()[:0].sum() for parameter in network.parameters()]).sum()
