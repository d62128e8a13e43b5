"""How a run starts, and goes on: config -> trainer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from recoseg.batches import StepBatches
from recoseg.builders.data import (
    build_dataset,
    cache_folder,
    require_training_labels,
    require_two_classes,
    val_keys,
)
from recoseg.builders.methods import build_method, build_weak_view
from recoseg.builders.models import build_starting_model, feature_channels
from recoseg.builders.splits import build_split
from recoseg.builders.training import (
    build_batches,
    build_optimiser,
    build_pace,
    build_selection,
    choose_device,
    choose_workers,
    class_weights,
)
from recoseg.config.help_text import describe_method, describe_model
from recoseg.config.load import flat, to_yaml
from recoseg.config.settings import RunConfig
from recoseg.data.dataset import Cached, Dataset
from recoseg.data.worker_processes import Progress
from recoseg.runs.run_folder import RunFolder
from recoseg.splits.label_split import LabelSplit, VisibleLabels
from recoseg.train.precision import Precision, require_sixteen_bits
from recoseg.train.trainer import Trainer
from recoseg.train.validation import Validation


def new_run(config: RunConfig, path: Path, *, progress: Progress | None = None) -> Trainer:
    """A run in a new folder. Everything that can fail is built before the folder is made."""
    dataset = build_dataset(config.data)
    require_training_labels(dataset)
    split = build_split(config.split, dataset, progress=progress)
    return build_trainer(
        config,
        dataset,
        split,
        folder=lambda: RunFolder.create(path, config_yaml=to_yaml(config), split=split),
    )


def resumed_run(config: RunConfig, folder: RunFolder) -> Trainer:
    """The run of an existing folder, with the split that it was begun with."""
    dataset = build_dataset(config.data)
    split = LabelSplit.load(folder.split)
    split.check_fits(dataset)
    return build_trainer(config, dataset, split, resumed=folder.state.is_file(), folder=lambda: folder)


def build_trainer(
    config: RunConfig,
    dataset: Dataset,
    split: LabelSplit,
    *,
    folder: Callable[[], RunFolder],
    resumed: bool = False,
) -> Trainer:
    """`resumed` where a saved state will be put into it; `folder` is asked for when all else is built."""
    train = config.train
    device = choose_device(train.device)
    precision = Precision(train.precision, device)
    if precision.dtype is not None and device.type == "cpu":
        require_sixteen_bits(precision.dtype, cache=cache_folder())
    require_two_classes(dataset)
    num_loaders = choose_workers(train, dataset)
    cached = Cached(dataset, budget_bytes=int(train.cache_gb * 1e9) // max(1, num_loaders))
    visible = VisibleLabels(cached, split)
    model, start = build_starting_model(
        config.model,
        len(dataset.classes),
        feature_channels=feature_channels(config),
        seed=train.seed,
        resumed=resumed,
    )
    weights = class_weights(config, dataset, visible, split)
    used = weights if train.class_weights == "root" else None
    method = build_method(config, model, len(dataset.classes), class_weights=used)
    to_validate = val_keys(dataset)
    selection = build_selection(train, cached, to_validate, visible, split)
    held_back = list(selection.keys) if selection and selection.dataset is visible else []
    sparse = split.pixels is not None or dataset.partial
    weak_view = build_weak_view(config.augment, sparse=sparse, class_weights=weights)
    batches = build_batches(config, visible, split, method, weak_view.crop, held_back)
    return Trainer(
        method=method,
        optimisers={"student": build_optimiser(config.optimiser, model), **method.own_optimisers()},
        batches=batches,
        weak_view=weak_view,
        validation=Validation(cached, to_validate, selection),
        pace=build_pace(config),
        precision=precision,
        device=device,
        channels_last=train.channels_last,
        seed=train.seed,
        num_loaders=num_loaders,
        settings=flat(config),
        about=_about(config, dataset, split, model, start, batches, device),
        folder=folder(),
    )


def _about(
    config: RunConfig,
    dataset: Dataset,
    split: LabelSplit,
    model: nn.Module,
    start: list[str],
    batches: StepBatches,
    device: torch.device,
) -> list[str]:
    """What a run is, in a few lines for the terminal."""
    unit = "" if split.pixels is None or split.pixels.endswith("%") else " pixel"
    partly = f" ({split.pixels}{unit} of each class)" if split.pixels else ""
    labelled = f"{len(split.labelled)} labelled images{partly}, {len(split.unlabelled)} unlabelled"
    classes, validation = len(dataset.classes), len(dataset.keys("val"))
    millions = sum(parameter.numel() for parameter in model.parameters()) / 1e6
    lines = [
        f"data:    {dataset.name}, {classes} classes; {labelled}, {validation} to validate",
        f"network: {describe_model(config.model)}, {millions:.1f} million parameters, {device}",
        *start,
        f"method:  {describe_method(config)}, {config.train.iterations} iterations",
    ]
    for crops, count in (
        (batches.labelled, batches.labelled_per_step),
        (batches.unlabelled, batches.unlabelled_per_step),
    ):
        if crops is not None and len(crops.keys) < count:
            lines.append(
                f"note:    a step takes {count} {crops.purpose} images and there are {len(crops.keys)}: "
                "some are in it more than once, as other crops"
            )
    return lines
