"""Config -> a run: new, resumed, or trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from recoseg.augment.colour import ColourJitter, GaussianBlur
from recoseg.builders.data import build_dataset, build_split, require_two_classes, val_keys
from recoseg.builders.models import build_model
from recoseg.builders.section import keywords
from recoseg.builders.training import build_crops, build_optimiser, choose_device
from recoseg.config.load import load, to_yaml
from recoseg.config.settings import RunConfig
from recoseg.data.base import Dataset
from recoseg.data.cached import Cached
from recoseg.data.worker_processes import Progress
from recoseg.errors import UserError
from recoseg.lookup import lookup
from recoseg.methods import METHODS
from recoseg.models.weights import load_weights
from recoseg.splits.split_file import LabelSplit
from recoseg.train.run_folder import RunFolder
from recoseg.train.trainer import Trainer


def new_run(config: RunConfig, path: Path, *, progress: Progress | None = None) -> Trainer:
    """A run in a new folder. Everything that can fail is built before the folder is made."""
    dataset = build_dataset(config.data)
    split = build_split(config.split, dataset, progress=progress)
    parts = build_parts(config, dataset, split)
    folder = RunFolder.create(path, config_yaml=to_yaml(config), split=split)
    return Trainer(folder=folder, **parts)


def resumed_run(config: RunConfig, folder: RunFolder) -> Trainer:
    """The run of an existing folder, with the split that it was begun with."""
    dataset = build_dataset(config.data)
    split = LabelSplit.load(folder.split)
    split.check_fits(dataset)
    return Trainer(folder=folder, **build_parts(config, dataset, split))


@dataclass(frozen=True)
class TrainedRun:
    """A run that has weights, ready to look at images."""

    folder: RunFolder
    config: RunConfig
    dataset: Dataset
    val_keys: Sequence[str]
    model: nn.Module
    device: torch.device


def trained_run(folder: RunFolder) -> TrainedRun:
    """The network of a run folder with its trained weights, in eval mode, and the data it was trained on."""
    config = load(folder.config)
    dataset = build_dataset(config.data)
    model = build_model(config.model, len(dataset.classes), seed=config.train.seed, pretrained=False)
    if not folder.weights.is_file():
        raise UserError(f"{folder.path} has no weights yet: train it to its first evaluation")
    load_weights(model, folder.weights, strict=True)
    device = choose_device(config.train.device)
    return TrainedRun(folder, config, dataset, val_keys(dataset), model.to(device).eval(), device)


def build_parts(config: RunConfig, dataset: Dataset, split: LabelSplit) -> dict[str, Any]:
    device = choose_device(config.train.device)
    require_two_classes(dataset)
    cached = Cached(dataset, budget_bytes=int(config.train.cache_gb * 1e9) // max(1, config.train.workers))
    model = build_model(config.model, len(dataset.classes), seed=config.train.seed)
    train = keywords(config.train)
    del train["device"], train["cache_gb"]
    return {
        "method": lookup(METHODS, config.method.name, what="method")(model, **keywords(config.method)),
        "optimiser": build_optimiser(config.optimiser, model),
        "crops": build_crops(config.augment, config.train, cached, split),
        "dataset": cached,
        "val_keys": val_keys(dataset),
        "jitter": ColourJitter(probability=config.augment.jitter),
        "blur": GaussianBlur(probability=config.augment.blur),
        "device": device,
        "power": config.optimiser.power,
        "about": about(config, dataset, split, model, device),
        **train,
    }


def about(
    config: RunConfig, dataset: Dataset, split: LabelSplit, model: nn.Module, device: torch.device
) -> list[str]:
    """What a run is, in a few lines for the terminal."""
    partly = f" ({split.pixels} of each class)" if split.pixels else ""
    labelled = f"{len(split.labelled)} labelled images{partly}, {len(split.unlabelled)} unlabelled"
    classes, validation = len(dataset.classes), len(dataset.keys("val"))
    millions = sum(parameter.numel() for parameter in model.parameters()) / 1e6
    return [
        f"data:    {dataset.name}, {classes} classes; {labelled}, {validation} to validate",
        f"network: {config.model.name}, {config.model.encoder}, {millions:.1f} million parameters, {device}",
        f"method:  {config.method.name}, {config.train.iterations} iterations",
    ]
