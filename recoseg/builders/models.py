"""Config -> network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from recoseg.builders.section import keywords
from recoseg.config.model_settings import DeepLabV3PlusModel
from recoseg.lookup import lookup
from recoseg.models.deeplab_v3_plus import DeepLabV3Plus
from recoseg.models.encoders import ENCODERS
from recoseg.models.weights import load_weights
from recoseg.seeds import seed_for


def build_model(
    section: Any, num_classes: int, *, feature_channels: int | None = None, seed: int, pretrained: bool = True
) -> nn.Module:
    """The network, its weights drawn from `seed`; `pretrained=False` when trained ones will be put in.

    With `feature_channels` it has a representation head, which the contrast needs.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_for(seed, "weights"))
        build = BUILDERS[section.name]
        return build(section, num_classes, feature_channels=feature_channels, pretrained=pretrained)


def build_deeplab_v3_plus(
    section: DeepLabV3PlusModel, num_classes: int, *, feature_channels: int | None, pretrained: bool
) -> nn.Module:
    settings = keywords(section)
    weights, encoder_name = settings.pop("pretrained"), settings.pop("encoder")
    encoder = lookup(ENCODERS, encoder_name, what="encoder")()
    if pretrained and weights is not None:
        load_weights(encoder, weights)
    return DeepLabV3Plus(
        encoder=encoder, num_classes=num_classes, feature_channels=feature_channels, **settings
    )


BUILDERS: dict[str, Callable[..., nn.Module]] = {"deeplab_v3_plus": build_deeplab_v3_plus}
"""`model.name` -> what builds it."""
