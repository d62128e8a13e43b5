"""Which pixels of an image a run's contrast could choose."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from recoseg.config import load
from recoseg.data.scenes import Scenes
from recoseg.errors import UserError
from recoseg.runs.query_map import query_map
from recoseg.runs.run import Run
from recoseg.training.run_folder import RunFolder
from recoseg.types import IGNORE, ModelOutput

SURE = 6.0


class Stripes(nn.Module):
    """Sure of class 0 in the left half of an image, torn between 0 and 1 in the right; 4 pixels a cell."""

    def __init__(self, feature_stride: int | None) -> None:
        super().__init__()
        self.feature_stride = feature_stride

    def forward(self, images: torch.Tensor) -> ModelOutput:
        batch, _, height, width = images.shape
        logits = torch.full((batch, 16, height // 4, width // 4), -50.0)
        logits[:, 0], logits[:, 1] = SURE, 0.0
        logits[:, :2, :, width // 8 :] = 0.0
        stride = self.feature_stride
        features = None if stride is None else torch.ones(batch, 2, height // stride, width // stride)
        return ModelOutput(logits, features)


def run_with(model: nn.Module, *settings: str) -> Run:
    classes = Scenes(height=64, width=64, num_train=1, num_val=1).classes
    assert len(classes) == 16
    config = load(None, ["--train.device=cpu", *settings])
    return Run(folder=RunFolder(Path("nowhere")), config=config, network=model, classes=classes, iteration=1)


IMAGE = torch.zeros(3, 64, 64, dtype=torch.uint8)


def test_a_pixel_is_judged_by_the_probability_of_its_true_class() -> None:
    labels = torch.zeros(64, 64, dtype=torch.uint8)
    labels[:32] = 1
    labels[:4] = IGNORE
    found = query_map(run_with(Stripes(None)), "run", IMAGE, labels)
    sure = 1 / (1 + np.exp(-SURE))
    assert found.own_probability.shape == (16, 16)
    assert np.isnan(found.own_probability[0]).all()
    assert found.own_probability[12, 0] == pytest.approx(sure)  # class 0, on the left
    assert found.own_probability[4, 0] == pytest.approx(1 - sure)  # class 1, on the left
    assert found.own_probability[12, 15] == pytest.approx(0.5)
    assert found.easy.sum() == 8 * 8
    assert found.hard.sum() == 16 * 16 - 16 - 8 * 8
    assert found.hard_below == 0.97


def test_pixels_are_those_of_the_features_and_the_threshold_is_the_runs() -> None:
    labels = torch.zeros(64, 64, dtype=torch.uint8)
    run = run_with(Stripes(8), "--contrast=reco", "--contrast.hard-below=0.4")
    found = query_map(run, "run", IMAGE, labels)
    assert found.own_probability.shape == (8, 8)
    assert (found.hard_below, found.hard.sum()) == (0.4, 0)
    assert query_map(run, "run", IMAGE, labels, hard_below=0.6).hard.sum() >= 8 * 3


def test_without_labels_the_networks_own_count_where_it_is_sure() -> None:
    found = query_map(run_with(Stripes(None)), "run", IMAGE, None)
    assert not np.isnan(found.own_probability[:, :7]).any()
    assert np.isnan(found.own_probability[:, 9:]).all()  # 0.5 is not above the contrast's 0.7


def test_a_threshold_is_a_probability() -> None:
    with pytest.raises(UserError, match="hard_below: got 2"):
        query_map(run_with(Stripes(None)), "run", IMAGE, None, hard_below=2)
