"""Config -> objects: the only place that knows both."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch
from torch import nn

from recoseg.augment.colour import ColourJitter, GaussianBlur
from recoseg.augment.geometry import RandomCrop
from recoseg.config.load import load, to_yaml
from recoseg.config.settings import (
    AugmentSettings,
    OptimiserSettings,
    RunConfig,
    SplitSettings,
    TrainSettings,
)
from recoseg.data import DATASETS
from recoseg.data.base import Dataset
from recoseg.data.cached import Cached
from recoseg.data.worker_processes import Progress
from recoseg.errors import UserError
from recoseg.loaders import Crops
from recoseg.lookup import lookup
from recoseg.methods import METHODS
from recoseg.models.deeplab_v3_plus import DeepLabV3Plus
from recoseg.models.encoders import ENCODERS
from recoseg.models.weights import load_weights
from recoseg.seeds import seed_for
from recoseg.splits.class_index import ClassCounter
from recoseg.splits.request import SplitRequest
from recoseg.splits.split_file import LabelSplit
from recoseg.splits.visible import VisibleLabels
from recoseg.train.run_folder import RunFolder
from recoseg.train.trainer import Trainer


def keywords(section: Any) -> dict[str, Any]:
    """The settings of a section as keyword arguments of the class that `name` stands for."""
    return {f.name: getattr(section, f.name) for f in fields(section) if f.name != "name"}


def build_dataset(section: Any) -> Dataset:
    return lookup(DATASETS, section.name, what="dataset")(**keywords(section))


def build_split(
    section: SplitSettings,
    dataset: Dataset,
    *,
    num_workers: int | None = None,
    progress: Progress | None = None,
) -> LabelSplit:
    """The split of a file, or a new one; reading labels for it may take `num_workers` processes."""
    settings = keywords(section)
    file = settings.pop("file")
    request = SplitRequest(**settings)
    if file is not None:
        for name in request.given():
            raise UserError(f"split.{name} has no effect beside split.file: give one of them")
        split = LabelSplit.load(Path(file))
        split.check_fits(dataset)
        return split
    return request.draw(dataset, class_counter(num_workers=num_workers, progress=progress))


def class_counter(*, num_workers: int | None = None, progress: Progress | None = None) -> ClassCounter:
    """Counts classes in several processes, and remembers them in the user's cache folder."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    num_workers = num_workers or min(os.cpu_count() or 1, 8)
    return ClassCounter(num_workers=num_workers, progress=progress, cache=Path(home) / "recoseg")


def build_model(section: Any, num_classes: int, *, seed: int, pretrained: bool = True) -> nn.Module:
    """The network, its weights drawn from `seed`; `pretrained=False` when trained ones will be put in."""
    settings = keywords(section)
    weights, encoder_name = settings.pop("pretrained"), settings.pop("encoder")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_for(seed, "weights"))
        encoder = lookup(ENCODERS, encoder_name, what="encoder")()
        if pretrained and weights is not None:
            load_weights(encoder, weights)
        return DeepLabV3Plus(encoder=encoder, num_classes=num_classes, **settings)


def build_optimiser(section: OptimiserSettings, model: nn.Module) -> torch.optim.Optimizer:
    if section.nesterov and section.momentum == 0:
        raise UserError("optimiser.nesterov has no effect without optimiser.momentum: set it to false")
    return torch.optim.SGD(
        model.parameters(),
        lr=section.lr,
        momentum=section.momentum,
        nesterov=section.nesterov,
        weight_decay=section.weight_decay,
    )


def build_crops(augment: AugmentSettings, train: TrainSettings, dataset: Dataset, split: LabelSplit) -> Crops:
    sparse = split.pixels is not None
    crop = RandomCrop(size=augment.crop, scale=augment.scale, flip=augment.flip, sparse=sparse)
    visible = VisibleLabels(dataset, split)  # hidden is hidden: training has no other way to labels
    return Crops(visible, split.labelled, crop=crop, seed=train.seed, labelled=True)


def choose_device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise UserError(
            f"train.device: {name!r} cannot be used here: {str(error).splitlines()[0]}"
        ) from error
    return device


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


def val_keys(dataset: Dataset) -> list[str]:
    """The validation images that can be scored."""
    keys = [key for key in dataset.keys("val") if dataset.has_labels(key)]
    if not keys:
        raise UserError(
            "the dataset has no labelled validation images; docs/own_data.md says how to name some"
        )
    return keys


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


def require_two_classes(dataset: Dataset) -> None:
    if len(dataset.classes) < 2:
        only = dataset.classes.names[0]
        raise UserError(
            f"the dataset has one class only, {only!r}: there is nothing to tell apart; "
            "list a second one, such as the background"
        )


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
