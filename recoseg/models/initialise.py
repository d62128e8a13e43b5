"""How the weights of our networks start."""

from __future__ import annotations

from torch import nn


def initialise(module: nn.Module) -> None:
    """The start that He et al. (2015) propose; BatchNorm starts as the identity by itself."""
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        if module.bias is not None:
            nn.init.zeros_(module.bias)
