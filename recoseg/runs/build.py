"""Config -> what a run trains: views, method with the contrast on top of it, and the images of every step."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from msgspec import structs
from torch import Tensor, nn

from recoseg.augment.colour import ColourChange, ColourJitter, GaussianBlur
from recoseg.augment.crop import RandomCrop
from recoseg.augment.mix import MIXES
from recoseg.augment.strong import StrongView
from recoseg.augment.weak import WeakView
from recoseg.augment.weak_to_strong import STRONG_COLOURS, WeakToStrong
from recoseg.batches import Crops, StepBatches
from recoseg.config.contrast_settings import ContrastSettings
from recoseg.config.method_settings import FactoryMethod
from recoseg.config.settings import RunConfig
from recoseg.config.train_settings import AugmentSettings, TrainSettings
from recoseg.data.dataset import Dataset
from recoseg.distributed import rank, world_size
from recoseg.errors import UserError
from recoseg.losses.cross_entropy import root_inverse_frequency
from recoseg.losses.regional_contrast import FeatureBank, RegionalContrast
from recoseg.methods import METHODS, ContrastTerm, Method, MethodParts
from recoseg.models.build import build_starting_model
from recoseg.own_code import answer_of
from recoseg.seeds import seed_for
from recoseg.splits.class_index import class_counter
from recoseg.splits.label_split import LabelSplit, VisibleLabels
from recoseg.training.early_end import device_bytes, machine_bytes
from recoseg.training.optimisers import build_optimiser

_PIXEL_BYTES = 3 * 4 + 8  # of an image in float, and of its label
MOST_WORKERS = 8
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
            section = structs.replace(section, reinitialise=True)  # its classifier fits no weights file
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
            method = METHODS[config.method.name].build(student, parts, **structs.asdict(config.method))
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
    settings = structs.asdict(section)
    channels, bank = settings.pop("feature_channels"), settings.pop("bank")
    own: dict[str, Any] = {name: settings.pop(name) for name in _OWN_OF_TERM}
    if bank is None:
        return ContrastTerm(contrast=RegionalContrast(**settings), **own)
    of_bank = {**structs.asdict(bank), "warm_up": (bank.warm_up or 0) * parts_per_step}
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


def class_weights(
    config: RunConfig, dataset: Dataset, visible: VisibleLabels, split: LabelSplit
) -> Tensor | None:
    """(K,): by the labelled pixels that training may see; None where nothing asks for them."""
    if config.train.class_weights == "none" and not config.augment.rare:
        return None
    source = dataset if split.pixels is None else visible  # whole labels are counted once and remembered
    index = class_counter()(source, split.labelled)
    return root_inverse_frequency(torch.from_numpy(index.counts.sum(0)))


def build_batches(
    config: RunConfig,
    visible: VisibleLabels,
    split: LabelSplit,
    method: Method,
    crop: RandomCrop,
    held_back: list[str],
) -> StepBatches:
    """The images of every step. Training has no way to labels but `visible`."""
    train = config.train
    require_room(config, needs_unlabelled=method.needs_unlabelled)
    method.require_fitting(sparse=crop.sparse, crop=crop.size)
    keys = [key for key in split.labelled if key not in set(held_back)]
    labelled = Crops(visible, keys, crop=crop, seed=train.seed, labelled=True)
    shared: dict[str, Any] = {
        "labelled": labelled,
        "labelled_per_step": train.labelled_per_step,
        "parts": train.accumulate,
        "rank": rank(),
        "world": world_size(),
    }
    if not method.needs_unlabelled:
        if train.unlabelled_per_step is not None:
            raise UserError(f"train.unlabelled_per_step has no effect with method {config.method.name}")
        return StepBatches(**shared)
    scale = crop.scale if config.augment.same_scale else (1.0, 1.0)
    plain = replace(crop, scale=scale, flip=0.0, rare=0.0)
    others = _unlabelled_keys(split, keys, config.method.name, partial=crop.sparse)
    batches = StepBatches(
        **shared,
        unlabelled=Crops(
            visible, others, crop=plain, seed=train.seed, labelled=False, partly_known=crop.sparse
        ),
        unlabelled_per_step=train.unlabelled_per_step or train.labelled_per_step,
        unlabelled_from=first_unlabelled(method, train.iterations),
    )
    _refuse_another_method(config, batches, method)
    return batches


def require_room(config: RunConfig, *, needs_unlabelled: bool) -> None:
    """Said at once, where loading the images of a step would take hours until it fails."""
    train, (height, width) = config.train, config.augment.crop
    count = train.labelled_per_step
    count += (train.unlabelled_per_step or count) if needs_unlabelled else 0
    crops = count // (train.accumulate * world_size())  # at a time
    there, needed = machine_bytes(), crops * height * width * _PIXEL_BYTES
    if needed > there:
        raise UserError(
            f"{crops} crops of {height}x{width} at a time take {needed / 1e9:.3g} GB, and this machine has "
            f"{there / 1e9:.3g}: lower train.labelled_per_step or augment.crop, or raise "
            "train.accumulate"
        )


def _unlabelled_keys(split: LabelSplit, labelled: list[str], method: str, *, partial: bool) -> list[str]:
    """Images without labels; with partial labels also those that have some: most of their pixels do not."""
    keys = [*split.unlabelled, *(labelled if partial else ())]
    if not keys:
        raise UserError(
            f"method {method} learns from unlabelled images too, and this split has none: all "
            f"{len(labelled)} training images are labelled. Add images without masks to images/, leave "
            f"some labels unseen (--split.labels {max(1, len(labelled) // 2)}), or take method supervised"
        )
    return keys


def first_unlabelled(method: Method, iterations: int) -> int:
    """The first iteration that looks at unlabelled images."""
    return bisect_left(range(iterations), True, key=method.uses_unlabelled)  # from then on all of them do


def _refuse_another_method(config: RunConfig, batches: StepBatches, built: Method) -> None:
    """Raises where the method would, under its own name, do the same as a simpler one."""
    method, train = config.method, config.train
    if batches.unlabelled_from == train.iterations:
        raise UserError(
            f"method {method.name} would look at no unlabelled image in {train.iterations} iterations: lower "
            "method.supervised_start, raise train.iterations, or take method supervised"
        )
    shares = batches.parts * batches.world
    if built.least_unlabelled > 1 and batches.unlabelled_per_step == shares:
        mix = getattr(method, "mix", None)
        joins, or_else = (
            (f"method.mix {mix}", "take another mix")
            if mix
            else (f"method {method.name}", "set method.cutmix to 0")
        )
        raise UserError(
            f"{joins} joins two unlabelled images, and every process and part of a step has one alone: raise "
            f"train.unlabelled_per_step from {shares} to {2 * shares}, or {or_else}"
        )


def choose_workers(train: TrainSettings, dataset: Dataset) -> int:
    """Loading processes: none where the training images fit into the cache, judged by the first of them."""
    if train.workers is not None:
        return train.workers
    keys = dataset.keys("train")
    if not keys or dataset.image(keys[0]).nbytes * 4 / 3 * len(keys) <= train.cache_gb * 1e9:  # with labels
        return 0
    return min(os.cpu_count() or 1, MOST_WORKERS)
