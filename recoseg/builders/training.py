"""Config -> what the training loop is made of."""

from __future__ import annotations

import os
from bisect import bisect_left
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from recoseg.augment.crop import RandomCrop
from recoseg.batches import Crops, StepBatches
from recoseg.builders import keywords
from recoseg.builders.data import class_counter
from recoseg.config.settings import RunConfig
from recoseg.config.train_settings import AdamWOptimiser, SGDOptimiser, TrainSettings
from recoseg.data.dataset import Dataset
from recoseg.distributed import rank, world_size
from recoseg.errors import UserError
from recoseg.losses.cross_entropy import root_inverse_frequency
from recoseg.methods.method import Method
from recoseg.splits.label_split import LabelSplit, VisibleLabels
from recoseg.training.early_end import machine_bytes
from recoseg.training.optimisers import (
    OPTIMISERS,
    SCHEDULES,
    Schedule,
    has_encoder,
    parameter_groups,
    warmed_up,
)
from recoseg.training.trainer import Pace
from recoseg.training.validation import Selection, hold_back

MOST_WORKERS = 8
_OF_GROUPS = ("lr", "weight_decay", "head_lr_factor", "decay_norms_and_biases")
_PIXEL_BYTES = 3 * 4 + 8  # of an image in float, and of its label


def build_optimiser(section: SGDOptimiser | AdamWOptimiser, model: nn.Module) -> Optimizer:
    if section.weight_decay == 0 and not section.decay_norms_and_biases:
        raise UserError("optimiser.decay_norms_and_biases has no effect without optimiser.weight_decay")
    settings = keywords(section)
    if not has_encoder(model):
        settings["head_lr_factor"] = 1.0  # all of it learns at one rate; a run says so
    groups = parameter_groups(model, **{name: settings.pop(name) for name in _OF_GROUPS})
    of_schedule = {"warm_up", "schedule", *_of_schedules()}
    own = {name: value for name, value in settings.items() if name not in of_schedule}
    return OPTIMISERS[section.name](groups, **own)


def build_schedule(section: SGDOptimiser | AdamWOptimiser) -> Schedule:
    factor, own = SCHEDULES[section.schedule]
    for name in _of_schedules() - set(own):
        if getattr(section, name, None) != getattr(type(section)(), name, None):
            raise UserError(f"optimiser.{name} has no effect with optimiser.schedule {section.schedule}")
    schedule = partial(factor, **{name: getattr(section, name) for name in own})
    return partial(warmed_up, schedule=schedule, warm_up=section.warm_up) if section.warm_up else schedule


def _of_schedules() -> set[str]:
    """The settings that some schedule has."""
    return {name for _, own in SCHEDULES.values() for name in own}


def build_pace(config: RunConfig) -> Pace:
    train = config.train
    return Pace(
        iterations=train.iterations,
        schedule=build_schedule(config.optimiser),
        clip=train.clip,
        evaluate_every=train.evaluate_every,
        log_every=train.log_every,
    )


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


def build_selection(
    train: TrainSettings, dataset: Dataset, val_keys: list[str], visible: VisibleLabels, split: LabelSplit
) -> Selection | None:
    """The images that choose the best weights, if any shall."""
    if train.best_on != "labelled" and train.best_share != TrainSettings().best_share:
        raise UserError("train.best_share has no effect without train.best_on labelled")
    if train.best_on == "val":
        return Selection("the validation images", dataset, val_keys)
    if train.best_on == "labelled":
        _, held = hold_back(split.labelled, train.best_share, train.seed)
        return Selection(f"labelled images held back from training ({len(held)})", visible, held)
    return None


_DEVICES = ("cpu", "cuda")
"""Others lack what evaluation and contrast need: mps has no 64-bit floats."""


def choose_device(name: str, *, setting: str = "train.device") -> torch.device:
    """By its name; `setting` is where a person gave it."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError, ValueError):
        device = None
    if device is None or device.type not in _DEVICES:
        raise UserError(
            f"{setting}: {name!r} cannot be used here; needs auto, cpu, cuda, or cuda:1 for the second GPU"
        )
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise UserError(f"{setting}: {name!r} cannot be used here: {str(error).splitlines()[0]}") from error
    return device


def choose_workers(train: TrainSettings, dataset: Dataset) -> int:
    """Loading processes: none where the training images fit into the cache, judged by the first of them."""
    if train.workers is not None:
        return train.workers
    keys = dataset.keys("train")
    if not keys or dataset.image(keys[0]).nbytes * 4 / 3 * len(keys) <= train.cache_gb * 1e9:  # with labels
        return 0
    return min(os.cpu_count() or 1, MOST_WORKERS)
