"""A run folder -> its network together with the data that it was trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from recoseg.builders.data import build_dataset, val_keys
from recoseg.builders.load import trained_network
from recoseg.builders.training import choose_device
from recoseg.config.settings import RunConfig
from recoseg.data.base import Dataset
from recoseg.errors import UserError
from recoseg.train.run_folder import RunFolder
from recoseg.types import ClassInfo


@dataclass(frozen=True)
class TrainedRun:
    """A run that has weights, ready to look at images."""

    folder: RunFolder
    config: RunConfig
    dataset: Dataset
    val_keys: Sequence[str]
    model: nn.Module
    device: torch.device


def trained_run(folder: RunFolder, *, trust: bool = False) -> TrainedRun:
    """The network of a run folder with its trained weights, in eval mode, and the data it was trained on."""
    trained = trained_network(folder, trust=trust)
    dataset = build_dataset(trained.config.data)
    require_same_classes(trained.classes, dataset.classes)
    device = choose_device(trained.config.train.device)
    return TrainedRun(folder, trained.config, dataset, val_keys(dataset), trained.network.to(device), device)


def require_same_classes(trained: ClassInfo, data: ClassInfo) -> None:
    """The numbers of the classes must mean the same."""
    if trained.names == data.names:
        return
    if len(trained) != len(data):
        raise UserError(
            f"the network was trained on {len(trained)} classes and the data has {len(data)}: "
            "evaluate it on data with the same classes"
        )
    number, (one, other) = next(
        (number, pair)
        for number, pair in enumerate(zip(trained.names, data.names, strict=True))
        if pair[0] != pair[1]
    )
    raise UserError(
        f"class {number} is {one!r} for the network and {other!r} in the data: "
        "evaluate it on data with the same classes, in the same order"
    )
