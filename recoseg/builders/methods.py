"""Config -> views, method, and the contrast on top of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from recoseg.augment.colour import ColourChange, ColourJitter, GaussianBlur
from recoseg.augment.crop import RandomCrop
from recoseg.augment.mix import MIXES
from recoseg.augment.strong import StrongView
from recoseg.augment.weak import WeakView
from recoseg.augment.weak_to_strong import STRONG_COLOURS, WeakToStrong
from recoseg.builders import keywords
from recoseg.builders.models import build_starting_model
from recoseg.builders.training import build_optimiser
from recoseg.config.contrast_settings import ContrastSettings
from recoseg.config.method_settings import FactoryMethod
from recoseg.config.settings import RunConfig
from recoseg.config.train_settings import AugmentSettings
from recoseg.errors import UserError
from recoseg.losses.regional_contrast import FeatureBank, RegionalContrast
from recoseg.methods import METHODS, ContrastTerm, Method, MethodParts
from recoseg.own_code import answer_of
from recoseg.seeds import seed_for
from recoseg.training.early_end import device_bytes, machine_bytes

_CPU = torch.device("cpu")
_OWN_OF_TERM = ("weight", "trust_above", "own_label_above", "ramp")

COLOURS: list[Callable[[AugmentSettings], ColourChange]] = [
    lambda augment: ColourJitter(probability=augment.jitter, strength=augment.jitter_strength),
    lambda augment: GaussianBlur(probability=augment.blur),
]
"""Changes of colour, in the order in which they are made, of all images but strong views with their own."""


def build_weak_view(augment: AugmentSettings, *, sparse: bool, class_weights: Tensor | None) -> WeakView:
    """What is done to labelled images; `sparse` where single pixels are labelled."""
    crop = RandomCrop(
        size=augment.crop,
        scale=augment.scale,
        flip=augment.flip,
        flip_vertical=augment.flip_vertical,
        rotate=augment.rotate,
        sparse=sparse,
        rare=augment.rare,
        class_weights=() if class_weights is None else tuple(class_weights.tolist()),
    )
    return WeakView(crop=crop, colours=[build(augment) for build in COLOURS])


def _student_scale(augment: AugmentSettings) -> tuple[float, float]:
    """The scale that the student's view adds to that of the crop."""
    return (1.0, 1.0) if augment.same_scale else augment.scale


def build_strong_view(augment: AugmentSettings, mix: str) -> StrongView:
    """What a student sees of unlabelled images."""
    colours = [build(augment) for build in COLOURS]
    return StrongView(scale=_student_scale(augment), mix=MIXES[mix], colours=colours, flip=augment.flip)


def build_weak_to_strong(
    augment: AugmentSettings, cutmix: float = 0.5, *, colours: Sequence[ColourChange] = STRONG_COLOURS
) -> WeakToStrong:
    """What FixMatch and its heirs see of unlabelled images: strong colours are a part of each method."""
    return WeakToStrong(scale=_student_scale(augment), flip=augment.flip, colours=colours, cutmix=cutmix)


def build_method(
    config: RunConfig,
    student: nn.Module,
    num_classes: int,
    *,
    background: int | None = None,
    class_weights: Tensor | None = None,
    device: torch.device = _CPU,
    resumed: bool = False,
) -> Method:
    """`background` is the class of what is no object, if there is one; `device` where it will be trained.

    `resumed` where a saved state will be put into it: then no weights need to be read.
    """

    def another_network(num_outputs: int = num_classes) -> nn.Module:
        section, seed = config.model, seed_for(config.train.seed, "second network")
        if num_outputs != num_classes and section.weights is not None:
            section = replace(section, reinitialise=True)  # its classifier fits no weights file
        return build_starting_model(section, num_outputs, seed=seed, resumed=resumed)[0]

    parts = MethodParts(
        num_classes=num_classes,
        strong_view=partial(build_strong_view, config.augment),
        weak_to_strong=partial(build_weak_to_strong, config.augment),
        iterations=config.train.iterations,
        another_network=another_network,
        optimiser=partial(build_optimiser, config.optimiser),
        background=background,
    )
    with torch.random.fork_rng(devices=[]):  # for methods with networks of their own
        torch.manual_seed(seed_for(config.train.seed, "discriminator"))
        if isinstance(config.method, FactoryMethod):
            method = _method_from_factory(config.method.factory, student, parts)
        else:
            method = _method_by_name(config.method.name, keywords(config.method), student, parts)
    method.class_weights, method.ohem_below = class_weights, config.train.ohem_below
    parts_per_step = config.train.accumulate
    method.contrast = build_contrast(
        config.contrast, num_classes, device=device, parts_per_step=parts_per_step
    )
    bank = config.contrast and config.contrast.bank
    if bank and bank.warm_up is not None and bank.warm_up >= config.train.iterations:
        raise UserError(
            f"contrast.bank.warm_up: {bank.warm_up} steps last to the end of the run, and no key comes from "
            f"the bank; give fewer than train.iterations, {config.train.iterations}"
        )
    if method.contrast and method.contrast.by_teacher and method.evaluation_model is method.student:
        raise UserError(
            f"contrast.bank teacher: {config.method.name} has no moving average that could fill it; take "
            "mean_teacher, give method.average if it has that, or take contrast.bank labelled"
        )
    return method


def uses_unlabelled(config: RunConfig) -> bool:
    """Whether its method trains on unlabelled images; a method of a user's own may."""
    return config.method.name not in METHODS or METHODS[config.method.name].needs_unlabelled


def _method_by_name(name: str, settings: dict[str, Any], student: nn.Module, parts: MethodParts) -> Method:
    """A method that has no average of its own may have one that is evaluated, whatever else it does."""
    average = None
    if "average" in settings:
        average, warm_up = settings.pop("average"), settings.pop("warm_up", "mean")
        if average is None and warm_up != "mean":
            raise UserError("method.warm_up has no effect without method.average: leave it out, or give both")
    method = METHODS[name].build(student, parts, **settings)
    if average is not None:
        method.evaluate_average(average, warm_up)
    return method


def _method_from_factory(factory: str, student: nn.Module, parts: MethodParts) -> Method:
    method = answer_of(factory, student, parts)
    if not isinstance(method, Method):
        raise UserError(
            f"factory {factory!r} returned a {type(method).__name__}, needs a recoseg.methods.Method"
        )
    if method.student is not student:
        raise UserError(f"factory {factory!r}: its method must train the network that it was given")
    return method


_COPIES_OF_BANK = 3
"""The bank itself, the state that holds it, and what that was copied from when it grew."""


def build_contrast(
    section: ContrastSettings | None,
    num_classes: int,
    *,
    device: torch.device = _CPU,
    parts_per_step: int = 1,
) -> ContrastTerm | None:
    """`device`: where it will be; `parts_per_step`: how often a feature bank is filled in a step."""
    if section is None:
        return None
    settings = keywords(section)
    channels, bank = settings.pop("feature_channels"), settings.pop("bank")
    own: dict[str, Any] = {name: settings.pop(name) for name in _OWN_OF_TERM}
    if bank is None:
        return ContrastTerm(contrast=RegionalContrast(**settings), **own)
    of_bank = {**keywords(bank), "warm_up": (bank.warm_up or 0) * parts_per_step}
    above = of_bank.pop("above", 0.0)
    needed = 4 * num_classes * bank.size * channels
    copies = f", {_COPIES_OF_BANK} times that while a state is saved, and this machine has"
    for total, there, told in (
        (_COPIES_OF_BANK * needed, machine_bytes(), copies),
        (needed, device_bytes(device), ", and the device that it lies on has"),
    ):
        if total > there:
            raise UserError(
                f"contrast.bank.size: {bank.size:,} features of each of {num_classes} classes take "
                f"{needed / 1e9:,.1f} GB{told} {there / 1e9:,.1f}; take fewer, or fewer channels "
                "(contrast.feature_channels)"
            )
    try:
        stored = FeatureBank(num_classes, channels, **of_bank)
    except UserError as error:
        raise UserError(f"contrast.bank.{error}") from None
    contrast = RegionalContrast(**settings, bank=stored)
    return ContrastTerm(contrast=contrast, bank_fill=bank.name, bank_above=above, **own)
