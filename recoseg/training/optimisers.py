"""Optimisers and learning-rate schedules by name, and which parameters learn at which rate."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from recoseg.errors import UserError

Groups = list[dict[str, Any]]
Schedule = Callable[[int, int], float]
"""Iteration, counted from 0, and number of iterations -> the factor of every learning rate."""


def sgd(groups: Groups, *, momentum: float, nesterov: bool) -> Optimizer:
    if nesterov and momentum == 0:
        raise UserError("optimiser.nesterov has no effect without optimiser.momentum: set it to false")
    return torch.optim.SGD(groups, momentum=momentum, nesterov=nesterov, fused=True)


# Fused: one pass over the weights, a quarter of the time on a CPU.
OPTIMISERS: dict[str, Callable[..., Optimizer]] = {
    "sgd": sgd,
    "adamw": partial(torch.optim.AdamW, fused=True),
}
"""`optimiser.name` -> maker by groups of parameters and by the settings that no other optimiser has."""


def poly(iteration: int, iterations: int, *, power: float = 0.9) -> float:
    """(1 - t / T) ** power, the paper's."""
    return float((1 - iteration / iterations) ** power)


def cosine(iteration: int, iterations: int) -> float:
    """Half a wave, from 1 to 0."""
    return (1 + math.cos(math.pi * iteration / iterations)) / 2


def warmed_up(iteration: int, iterations: int, *, schedule: Schedule, warm_up: int) -> float:
    """`schedule`, multiplied by a factor that rises to 1 over the first `warm_up` iterations."""
    return schedule(iteration, iterations) * min(1.0, (iteration + 1) / (warm_up + 1))


SCHEDULES: dict[str, tuple[Callable[..., float], tuple[str, ...]]] = {
    "poly": (poly, ("power",)),
    "cosine": (cosine, ()),
}
"""`optimiser.schedule` -> the factor of every learning rate by iteration and iterations; and its settings."""


def parameter_groups(
    network: nn.Module,
    *,
    lr: float,
    weight_decay: float,
    head_lr_factor: float = 1.0,
    decay_norms_and_biases: bool = True,
) -> Groups:
    """The groups of an optimiser: every parameter of the network that learns, in exactly one of them.

    The encoder and the probe learn at `lr`, all other parts at `head_lr_factor` times that. Without
    `decay_norms_and_biases`, parameters of one dimension (scales and shifts of norms, biases) have no weight
    decay. With the defaults, which are the paper's, there is one group. The encoder's come first.
    """
    encoder = _encoder_parameters(network, head_lr_factor)
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    learning = [parameter for parameter in network.parameters() if parameter.requires_grad]
    for parameter in sorted(learning, key=lambda parameter: id(parameter) not in encoder):  # encoder first
        factor = 1.0 if id(parameter) in encoder else head_lr_factor
        decay = weight_decay if decay_norms_and_biases or parameter.ndim > 1 else 0.0
        groups.setdefault((factor, decay), []).append(parameter)
    return [
        {"params": parameters, "lr": lr * factor, "weight_decay": decay}
        for (factor, decay), parameters in groups.items()
    ]


def has_encoder(network: nn.Module) -> bool:
    """Whether it has a part named encoder, which can learn at another rate than its heads."""
    return isinstance(getattr(network, "encoder", None), nn.Module)


def _encoder_parameters(network: nn.Module, head_lr_factor: float) -> set[int]:
    """The identities of those parameters that learn at the plain rate: all of them when the factor is 1."""
    if head_lr_factor == 1:
        return {id(parameter) for parameter in network.parameters()}
    if not has_encoder(network):
        raise UserError(
            f"head_lr_factor {head_lr_factor:g}: {type(network).__name__} has no part named encoder to tell "
            "from its heads; leave the factor at 1"
        )
    known = [network.get_submodule("encoder")]
    if isinstance(getattr(network, "probe", None), nn.Module):
        known.append(network.get_submodule("probe"))
    return {id(parameter) for part in known for parameter in part.parameters()}


def set_learning_rate(optimiser: Optimizer, factor: float) -> float:
    """Each group's rate becomes `factor` times its first one; returns the first group's."""
    for group in optimiser.param_groups:
        group["lr"] = group.setdefault("initial_lr", group["lr"]) * factor
    rate: float = optimiser.param_groups[0]["lr"]
    return rate
