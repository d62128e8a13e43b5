"""How the weights of our networks start."""

from __future__ import annotations

from torch import nn


def quiet(layer: nn.Module) -> None:
    """A classifier's last layer, so that all classes are about as likely at the start.

    Started as the layers before it, its logits would be so large that the first steps only calm them down,
    with gradients of the encoder several times as large as later on.
    """
    assert isinstance(layer, nn.Conv2d)
    nn.init.normal_(layer.weight, std=0.01)


def initialise(module: nn.Module) -> None:
    """The start that He et al. (2015) propose; BatchNorm starts as the identity by itself."""
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        if module.bias is not None:
            nn.init.zeros_(module.bias)
