"""Config -> method, and the contrast on top of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from recoseg.augment.colour import ColourJitter, GaussianBlur
from recoseg.augment.mix import MIXES
from recoseg.augment.strong import StrongView
from recoseg.builders.section import keywords
from recoseg.config.method_settings import ContrastSettings
from recoseg.config.settings import RunConfig
from recoseg.losses.regional_contrast import RegionalContrast
from recoseg.methods.base import Method
from recoseg.methods.contrast_term import ContrastTerm
from recoseg.methods.mean_teacher import MeanTeacher
from recoseg.methods.s4gan import S4GAN
from recoseg.methods.supervised import Supervised
from recoseg.seeds import seed_for

Settings = dict[str, Any]
OWN_OF_TERM = ("weight", "trust_above", "own_label_above", "ramp")


def build_method(
    config: RunConfig, student: nn.Module, num_classes: int, *, class_weights: Tensor | None = None
) -> Method:
    settings = {**keywords(config.method), "class_weights": class_weights}
    return BUILDERS[config.method.name](config, student, num_classes, settings)


def build_supervised(config: RunConfig, student: nn.Module, num_classes: int, settings: Settings) -> Method:
    return Supervised(student, **settings)


def build_mean_teacher(config: RunConfig, student: nn.Module, num_classes: int, settings: Settings) -> Method:
    return MeanTeacher(student, build_view(config, settings.pop("mix")), **settings)


def build_s4gan(config: RunConfig, student: nn.Module, num_classes: int, settings: Settings) -> Method:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_for(config.train.seed, "discriminator"))
        return S4GAN(student, build_view(config, "none"), num_classes, **settings)


def build_view(config: RunConfig, mix: str) -> StrongView:
    """What a student sees of an unlabelled image."""
    augment = config.augment
    return StrongView(
        scale=augment.scale,
        mix=MIXES[mix],
        jitter=ColourJitter(probability=augment.jitter, strength=augment.jitter_strength),
        blur=GaussianBlur(probability=augment.blur),
        flip=augment.flip,
    )


def build_contrast(section: ContrastSettings | None) -> ContrastTerm | None:
    if section is None:
        return None
    settings = keywords(section)
    del settings["feature_channels"]  # a matter of the network
    own: dict[str, Any] = {name: settings.pop(name) for name in OWN_OF_TERM}
    return ContrastTerm(contrast=RegionalContrast(**settings), **own)


BUILDERS: dict[str, Callable[..., Method]] = {
    "supervised": build_supervised,
    "mean_teacher": build_mean_teacher,
    "s4gan": build_s4gan,
}
"""`method.name` -> what builds it."""
