"""Frozen BatchNorm: nothing that training does changes it."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from recoseg.errors import UserError
from recoseg.models.deeplab_v3_plus import DeepLabV3Plus
from recoseg.models.encoders import ENCODERS
from recoseg.models.encoders.mobilenet_v2 import MobileNetV2
from recoseg.models.freezing import FrozenBatchNorm, freeze_batch_norm, freeze_stages


def network() -> DeepLabV3Plus:
    return DeepLabV3Plus(encoder=MobileNetV2(), num_classes=3, decoder_width=8)


def norms(module: nn.Module, kind: type) -> list[str]:
    return [name for name, part in module.named_modules() if isinstance(part, kind)]


def test_a_layer_computes_in_train_mode_what_batch_norm_does_in_eval_mode() -> None:
    norm = nn.BatchNorm2d(2, eps=0.5)
    with torch.no_grad():
        norm.running_mean.copy_(torch.tensor([1.0, 2.0]))
        norm.running_var.copy_(torch.tensor([3.5, 0.5]))
        norm.weight.copy_(torch.tensor([4.0, 1.0]))
        norm.bias.copy_(torch.tensor([0.0, 10.0]))
    frozen = FrozenBatchNorm(norm).train()
    # (5 - 1) / sqrt(3.5 + 0.5) * 4 + 0 and (4 - 2) / sqrt(0.5 + 0.5) * 1 + 10
    assert frozen(torch.tensor([5.0, 4.0]).view(1, 2, 1, 1)).flatten().tolist() == [8.0, 12.0]
    images = torch.randn(2, 2, 3, 3)
    assert torch.equal(frozen(images), norm.eval()(images))


@pytest.mark.parametrize("which", ["encoder", "all"])
def test_a_training_step_leaves_frozen_layers_as_they_are(which, with_random_statistics) -> None:
    model = with_random_statistics(network())
    names = [name for name in norms(model, nn.BatchNorm2d) if which == "all" or name.startswith("encoder.")]
    assert freeze_batch_norm(model, which) == len(names)
    assert norms(model, FrozenBatchNorm) == names
    for parameter in model.parameters():
        parameter.data.add_(0.1)  # nothing is 0, so that weight decay alone moves whatever it may move
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    optimiser = torch.optim.SGD(model.requires_grad_(True).parameters(), lr=0.1, weight_decay=0.1)
    model.eval().train()
    model(torch.rand(2, 3, 32, 32)).logits.square().mean().backward()
    optimiser.step()
    changed = {name for name, tensor in model.state_dict().items() if not torch.equal(tensor, before[name])}
    frozen = {name for name in before if name.rpartition(".")[0] in names}
    assert changed == set(before) - frozen


def test_layers_outside_the_encoder_go_on_learning() -> None:
    model = network()
    freeze_batch_norm(model, "encoder")
    assert norms(model.encoder, nn.BatchNorm2d) == []
    assert len(norms(model.aspp, nn.BatchNorm2d)) == 6


def test_names_and_weights_pass_between_frozen_and_learning_layers(with_random_statistics) -> None:
    learning, frozen = with_random_statistics(network()), network()
    freeze_batch_norm(frozen, "all")
    assert list(frozen.state_dict()) == list(learning.state_dict())
    frozen.load_state_dict(learning.state_dict())
    images = torch.rand(1, 3, 32, 32)
    assert torch.equal(frozen.eval()(images).logits, learning(images).logits)


def test_a_copy_is_frozen_too_and_has_tensors_of_its_own() -> None:
    model = network()
    freeze_batch_norm(model, "all")
    twin = copy.deepcopy(model)
    assert norms(twin, FrozenBatchNorm) == norms(model, FrozenBatchNorm)
    twin.low[1].running_mean.add_(1)
    assert model.low[1].running_mean.abs().max() == 0


def test_a_conversion_to_sync_batch_norm_passes_over_frozen_layers() -> None:
    model = network()
    freeze_batch_norm(model, "encoder")
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    assert norms(converted.encoder, nn.SyncBatchNorm) == []
    assert len(norms(converted, nn.SyncBatchNorm)) == 8  # ASPP 6, low 1, classifier 1


def test_with_all_layers_frozen_one_image_makes_a_batch() -> None:
    model = network()
    freeze_batch_norm(model, "all")
    assert model.train()(torch.rand(1, 3, 32, 32)).logits.shape == (1, 3, 8, 8)


def test_a_layer_used_twice_stays_one_layer() -> None:
    norm = nn.BatchNorm1d(3, affine=False)
    model = nn.Sequential(norm, nn.Linear(3, 3), norm)
    assert freeze_batch_norm(model, "all") == 1
    assert model[0] is model[2]
    assert model.train()(torch.rand(1, 3)).shape == (1, 3)


def test_a_choice_without_effect_is_an_error() -> None:
    with pytest.raises(UserError, match="Sequential has no part named encoder; freeze all of it, or none"):
        freeze_batch_norm(nn.Sequential(nn.BatchNorm2d(3)), "encoder")
    with pytest.raises(
        UserError, match=r"'all' has no effect: no BatchNorm layer in Sequential; set it to none"
    ):
        freeze_batch_norm(nn.Sequential(nn.Conv2d(3, 3, 1)), "all")
    with pytest.raises(UserError, match=r"without running statistics \(0\) cannot be frozen"):
        freeze_batch_norm(nn.Sequential(nn.BatchNorm2d(3, track_running_stats=False)), "all")


@pytest.mark.parametrize("name", ["mobilenet_v2", "efficientnet_lite0", "resnet10_small"])
def test_frozen_stages_stay_as_they_start_and_the_others_learn(name) -> None:
    encoder = ENCODERS[name]()
    model = DeepLabV3Plus(encoder=encoder, num_classes=3, decoder_width=8)
    names = set(model.state_dict())
    freeze_stages(encoder, 2)
    assert set(model.state_dict()) == names  # weights pass between a frozen network and another
    before = copy.deepcopy(model.state_dict())
    optimiser = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    model.train()(torch.rand(2, 3, 64, 64)).logits.square().sum().backward()
    optimiser.step()
    frozen = {
        id(p)
        for stage in encoder.stages()[:2]
        for layer in stage
        for p in layer.state_dict(keep_vars=True).values()
    }
    changed = {key for key, value in model.state_dict().items() if not torch.equal(value, before[key])}
    kept = {key for key, value in model.state_dict(keep_vars=True).items() if id(value) in frozen}
    assert kept
    assert not kept & changed
    assert all(key in changed for key in before if key.endswith("weight") and key not in kept)


@pytest.mark.parametrize("name", ["mobilenet_v2", "efficientnet_lite2", "resnet10_small"])
def test_stages_hold_every_layer_with_weights_once_and_in_order(name) -> None:
    encoder = ENCODERS[name]()
    layers = [layer for stage in encoder.stages() for layer in stage]
    listed = [id(parameter) for layer in layers for parameter in layer.parameters()]
    assert listed == [id(parameter) for parameter in encoder.parameters()]
    assert len(encoder.stages()) == 5


@pytest.mark.parametrize("count", [-1, 5])
def test_all_stages_cannot_be_frozen(count) -> None:
    with pytest.raises(UserError, match="has 5, and at least the last must learn"):
        freeze_stages(MobileNetV2(), count)
