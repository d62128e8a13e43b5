"""Frozen BatchNorm: nothing that training does changes it."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from recoseg.errors import UserError
from recoseg.models.deeplab_v3_plus import DeepLabV3Plus
from recoseg.models.encoders.mobilenet_v2 import MobileNetV2
from recoseg.models.frozen_batch_norm import FrozenBatchNorm, freeze_batch_norm


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
