"""Which parameters learn at which rate, and with which weight decay."""

from __future__ import annotations

from typing import Any

from torch import nn

from recoseg.errors import UserError


def parameter_groups(
    network: nn.Module,
    *,
    lr: float,
    weight_decay: float,
    head_lr_factor: float = 1.0,
    decay_norms_and_biases: bool = True,
) -> list[dict[str, Any]]:
    """The groups of an optimiser: every parameter of the network that learns, in exactly one of them.

    All but the encoder learns at `head_lr_factor` times `lr`. Without `decay_norms_and_biases`, parameters
    of one dimension (scales and shifts of norms, biases) have no weight decay. With the defaults, which are
    the paper's, there is one group. The encoder's come first.
    """
    encoder = encoder_parameters(network, head_lr_factor)
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


def encoder_parameters(network: nn.Module, head_lr_factor: float) -> set[int]:
    """The identities of those parameters that learn at the plain rate: all of them when the factor is 1."""
    if head_lr_factor == 1:
        return {id(parameter) for parameter in network.parameters()}
    encoder = getattr(network, "encoder", None)
    if not isinstance(encoder, nn.Module):
        raise UserError(
            f"head_lr_factor {head_lr_factor:g}: {type(network).__name__} has no part named encoder to tell "
            "from its heads; leave the factor at 1"
        )
    return {id(parameter) for parameter in encoder.parameters()}
