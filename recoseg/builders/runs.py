"""Config -> a run: new or resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

from recoseg.augment.colour import ColourJitter, GaussianBlur
from recoseg.builders.data import (
    build_dataset,
    build_split,
    cache_folder,
    require_training_labels,
    require_two_classes,
    val_keys,
)
from recoseg.builders.methods import build_contrast, build_method
from recoseg.builders.models import build_starting_model
from recoseg.builders.training import (
    build_optimiser,
    build_pieces,
    build_selection,
    choose_device,
    choose_workers,
    class_weights,
)
from recoseg.config.describe import describe_method, describe_model
from recoseg.config.load import flat, to_yaml
from recoseg.config.settings import RunConfig
from recoseg.data.base import Dataset
from recoseg.data.cached import Cached
from recoseg.data.worker_processes import Progress
from recoseg.loaders import Pieces
from recoseg.splits.split_file import LabelSplit
from recoseg.splits.visible import VisibleLabels
from recoseg.train.precision import Precision
from recoseg.train.run_folder import RunFolder
from recoseg.train.sixteen_bits import require_sixteen_bits
from recoseg.train.trainer import Trainer


def new_run(config: RunConfig, path: Path, *, progress: Progress | None = None) -> Trainer:
    """A run in a new folder. Everything that can fail is built before the folder is made."""
    dataset = build_dataset(config.data)
    require_training_labels(dataset)
    split = build_split(config.split, dataset, progress=progress)
    parts = build_parts(config, dataset, split)
    folder = RunFolder.create(path, config_yaml=to_yaml(config), split=split)
    return Trainer(folder=folder, **parts)


def resumed_run(config: RunConfig, folder: RunFolder) -> Trainer:
    """The run of an existing folder, with the split that it was begun with."""
    dataset = build_dataset(config.data)
    split = LabelSplit.load(folder.split)
    split.check_fits(dataset)
    return Trainer(folder=folder, **build_parts(config, dataset, split, resumed=folder.state.is_file()))


def build_parts(
    config: RunConfig, dataset: Dataset, split: LabelSplit, *, resumed: bool = False
) -> dict[str, Any]:
    """What a trainer is made of; `resumed` where a saved state will be put into it."""
    train = config.train
    device = choose_device(train.device)
    precision = Precision(train.precision, device)
    if precision.dtype is not None and device.type == "cpu":
        require_sixteen_bits(precision.dtype, cache=cache_folder())
    require_two_classes(dataset)
    workers = choose_workers(train, dataset)
    cached = Cached(dataset, budget_bytes=int(train.cache_gb * 1e9) // max(1, workers))
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
    pieces = build_pieces(config, visible, split, method, held_back, weights)
    return {
        "method": method,
        "contrast": build_contrast(config.contrast),
        "optimisers": {"student": build_optimiser(config.optimiser, model), **method.own_optimisers()},
        "pieces": pieces,
        "dataset": cached,
        "val_keys": to_validate,
        "selection": selection,
        "jitter": ColourJitter(probability=config.augment.jitter, strength=config.augment.jitter_strength),
        "blur": GaussianBlur(probability=config.augment.blur),
        "device": device,
        "precision": precision,
        "iterations": train.iterations,
        "power": config.optimiser.power,
        "clip": train.clip,
        "channels_last": train.channels_last,
        "seed": train.seed,
        "evaluate_every": train.evaluate_every,
        "log_every": train.log_every,
        "workers": workers,
        "settings": flat(config),
        "about": about(config, dataset, split, model, start, pieces, device),
    }


def feature_channels(config: RunConfig) -> int | None:
    return None if config.contrast is None else config.contrast.feature_channels


def about(
    config: RunConfig,
    dataset: Dataset,
    split: LabelSplit,
    model: nn.Module,
    start: list[str],
    pieces: Pieces,
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
        (pieces.labelled, pieces.labelled_per_step),
        (pieces.unlabelled, pieces.unlabelled_per_step),
    ):
        if crops is not None and len(crops.keys) < count:
            lines.append(
                f"note:    a step takes {count} {crops.purpose} images and there are {len(crops.keys)}: "
                "some are in it more than once, as other crops"
            )
    return lines
