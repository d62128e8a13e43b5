"""Parameter groups: everything that learns, once, at its rate."""

from __future__ import annotations

from itertools import chain

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from recoseg.errors import UserError
from recoseg.models.deeplab_v2 import DeepLabV2
from recoseg.models.encoders.mobilenet_v2 import MobileNetV2
from recoseg.training.optimisers import parameter_groups


class Small(nn.Module):
    """Encoder: a convolution (weight, bias) and a norm (weight, bias); head: a convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Conv2d(4, 2, 1)
        self.encoder = nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4))


with torch.device("meta"):
    DEEPLAB = DeepLabV2(encoder=MobileNetV2(), num_classes=3, feature_channels=4)


def names_and_settings(model: nn.Module, **settings) -> list[tuple[list[str], float, float]]:
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    return [
        ([names[id(parameter)] for parameter in group["params"]], group["lr"], group["weight_decay"])
        for group in parameter_groups(model, lr=0.1, weight_decay=0.5, **settings)
    ]


ENCODER = ["encoder.0.weight", "encoder.0.bias", "encoder.1.weight", "encoder.1.bias"]


def test_by_default_there_is_one_group_in_the_networks_own_order() -> None:
    model = Small()
    assert names_and_settings(model) == [([name for name, _ in model.named_parameters()], 0.1, 0.5)]


def test_heads_learn_at_a_multiple_of_the_rate_and_the_encoder_comes_first() -> None:
    found = names_and_settings(Small(), head_lr_factor=10)
    assert found == [(ENCODER, 0.1, 0.5), (["head.weight", "head.bias"], 1.0, 0.5)]


def test_norms_and_biases_can_go_without_decay() -> None:
    assert names_and_settings(Small(), decay_norms_and_biases=False) == [
        (["head.weight", "encoder.0.weight"], 0.1, 0.5),
        (["head.bias", "encoder.0.bias", "encoder.1.weight", "encoder.1.bias"], 0.1, 0.0),
    ]
    assert names_and_settings(Small(), decay_norms_and_biases=False, head_lr_factor=2) == [
        (ENCODER[:1], 0.1, 0.5),
        (ENCODER[1:], 0.1, 0.0),
        (["head.weight"], 0.2, 0.5),
        (["head.bias"], 0.2, 0.0),
    ]


def test_the_weights_of_a_linear_layer_decay() -> None:
    found = names_and_settings(nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2)), decay_norms_and_biases=False)
    assert found == [(["0.weight"], 0.1, 0.5), (["0.bias", "1.weight", "1.bias"], 0.1, 0.0)]


def test_what_does_not_learn_is_in_no_group() -> None:
    model = Small()
    model.encoder[1].requires_grad_(False)
    assert names_and_settings(model, head_lr_factor=3)[0][0] == ENCODER[:2]


@given(factor=st.sampled_from([0.1, 1.0, 10.0]), decay=st.booleans(), frozen=st.sets(st.integers(0, 160)))
def test_every_parameter_that_learns_is_in_exactly_one_group(factor, decay, frozen) -> None:
    model = DEEPLAB
    for index, parameter in enumerate(model.parameters()):
        parameter.requires_grad_(index not in frozen)
    groups = parameter_groups(
        model, lr=1.0, weight_decay=0.1, head_lr_factor=factor, decay_norms_and_biases=decay
    )
    grouped = [id(parameter) for parameter in chain.from_iterable(group["params"] for group in groups)]
    assert sorted(grouped) == sorted(
        id(parameter) for parameter in model.parameters() if parameter.requires_grad
    )
    torch.optim.SGD(groups)  # which refuses a parameter in two groups


def test_one_step_moves_the_head_by_its_own_rate() -> None:
    model = Small()
    groups = parameter_groups(model, lr=0.5, weight_decay=0.0, head_lr_factor=4)
    optimiser = torch.optim.SGD(groups)
    before = [model.encoder[0].weight.clone(), model.head.weight.clone()]
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimiser.step()
    torch.testing.assert_close(model.encoder[0].weight, before[0] - 0.5)
    torch.testing.assert_close(model.head.weight, before[1] - 2.0)


def test_a_factor_needs_an_encoder_to_tell_heads_from() -> None:
    with pytest.raises(UserError, match="head_lr_factor 10: Sequential has no part named encoder"):
        parameter_groups(nn.Sequential(nn.Conv2d(3, 3, 1)), lr=1.0, weight_decay=0.0, head_lr_factor=10)
    assert len(parameter_groups(nn.Sequential(nn.Conv2d(3, 3, 1)), lr=1.0, weight_decay=0.0)) == 1
