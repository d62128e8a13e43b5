"""A wrong input or setting of the regional contrast is named: what was given, and what is needed."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from recoseg import RegionalContrast
from recoseg.errors import UserError

SOUND = (torch.ones(1, 4, 1, 2), torch.tensor([[[0, 1]]]), torch.full((1, 2, 1, 2), 0.5))


@pytest.mark.parametrize(
    ("position", "value", "message"),
    [
        (0, torch.zeros(4, 1, 2), r"features: got shape \(4, 1, 2\), needs \(B, D, h, w\)"),
        (0, torch.zeros(1, 4, 1, 2).long(), "features: got torch.int64, needs a floating point dtype"),
        (0, torch.zeros(1, 0, 1, 2), r"features: got shape \(1, 0, 1, 2\), needs at least one channel"),
        (0, [1.0], r"features: got list, needs a tensor \(B, D, h, w\)"),
        (1, torch.zeros(1, 1, 1, 2).long(), r"labels: got shape \(1, 1, 1, 2\), needs \(B, h, w\)"),
        (1, torch.zeros(1, 4, 8).long(), r"labels: got shape \(1, 4, 8\), needs \(1, 1, 2\).*shrink_labels"),
        (1, torch.zeros(1, 1, 2), "labels: got torch.float32, needs an integer dtype"),
        (1, torch.tensor([[[0, 2]]]), "labels: got 1 pixels outside 0 to 1, needs one of the 2 classes"),
        (1, torch.tensor([[[-100, 0]]]), "labels: got 1 pixels outside 0 to 1.*ignore_index="),
        (
            1,
            torch.zeros(1, 1, 2, device="meta").long(),
            "labels: got device meta, needs that of the features, cpu",
        ),
        (2, torch.zeros(1, 2, 1, 3), r"probabilities: got shape \(1, 2, 1, 3\), needs \(1, K, 1, 2\)"),
        (2, torch.zeros(1, 1, 1, 2), "probabilities: got 1 class, needs at least two"),
        (2, torch.zeros(1, 2, 1, 2).long(), "probabilities: got torch.int64, needs a floating point dtype"),
        (2, torch.full((1, 2, 1, 2), 3.0), "probabilities: got values from 3 to 3, needs 0 to 1; for logits"),
    ],
)
def test_a_wrong_input_is_named(position: int, value: Tensor, message: str) -> None:
    inputs = list(SOUND)
    inputs[position] = value
    with pytest.raises(UserError, match=message):
        RegionalContrast()(*inputs)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_queries": 0}, "num_queries: got 0, needs a whole number of at least 1"),
        ({"num_keys": 2.5}, "num_keys: got 2.5, needs a whole number"),
        ({"temperature": 0.0}, "temperature: got 0.0, needs a number above 0"),
        ({"graph_temperature": -1}, "graph_temperature: got -1, needs a number above 0"),
        ({"hard_below": 97}, "hard_below: got 97, needs a probability from 0 to 1"),
        ({"queries": "heard"}, "unknown queries= 'heard'; did you mean 'hard'"),
        ({"negatives": "all"}, "unknown negatives= 'all'.*active, uniform"),
        ({"keys": "share"}, "unknown keys= 'share'; did you mean 'shared'"),
        ({"negatives": "uniform", "graph_temperature": 0.5}, "graph_temperature: got 0.5, no effect"),
    ],
)
def test_a_wrong_setting_is_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        RegionalContrast(**settings)  # type: ignore[arg-type]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs two kinds of device")
def test_a_generator_of_another_device_is_named() -> None:
    with pytest.raises(UserError, match="generator: got device cuda, needs that of the features, cpu"):
        RegionalContrast()(*SOUND, generator=torch.Generator("cuda"))
