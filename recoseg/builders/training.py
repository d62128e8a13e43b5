"""Config -> what the training loop is made of."""

from __future__ import annotations

import torch
from torch import nn

from recoseg.augment.geometry import RandomCrop
from recoseg.config.train_settings import AugmentSettings, OptimiserSettings, TrainSettings
from recoseg.data.base import Dataset
from recoseg.errors import UserError
from recoseg.loaders import Crops
from recoseg.splits.split_file import LabelSplit
from recoseg.splits.visible import VisibleLabels


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
