"""The probe inside a network: one linear layer, to which the decoder adds nothing at first."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from recoseg.models.bilinear import resize
from recoseg.models.deeplab_v2 import DeepLabV2
from recoseg.models.deeplab_v3_plus import DeepLabV3Plus
from recoseg.models.encoders import ENCODERS
from recoseg.models.linear_probe import LinearProbe, join_levels


def random_probe(channels: tuple[int, ...], num_classes: int) -> LinearProbe:
    probe = LinearProbe(channels, num_classes)
    total = sum(channels)
    probe.set_(
        torch.randn(num_classes, total), torch.randn(num_classes), torch.randn(total), torch.rand(total) + 0.5
    )
    return probe


def test_logits_are_those_of_one_linear_layer_on_standardised_enlarged_features() -> None:
    torch.manual_seed(0)
    probe = random_probe((2, 3, 4), 5)
    levels = torch.randn(2, 2, 8, 12), torch.randn(2, 3, 4, 6), torch.randn(2, 4, 4, 6)
    joined = join_levels(levels, (8, 12))  # (2, 9, 8, 12)
    standardised = (joined - probe.mean.view(1, -1, 1, 1)) * probe.scale.view(1, -1, 1, 1)
    expected = nn.functional.conv2d(standardised, probe.weight[:, :, None, None], probe.bias)
    torch.testing.assert_close(probe(levels, (8, 12)), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", [DeepLabV2, DeepLabV3Plus])
def test_a_network_with_a_probe_starts_as_that_probe(kind) -> None:
    torch.manual_seed(0)
    network = kind(encoder=ENCODERS["resnet10_small"](output_stride=16), num_classes=3, probe=True).eval()
    network.probe = random_probe(network.encoder.level_channels, 3)
    images = torch.rand(2, 3, 64, 96)
    with torch.no_grad():
        logits = network(images).logits
        levels = network.encoder.levels(network.normalise(images))
        assert torch.equal(logits, network.probe(levels, logits.shape[2:]))


def test_the_decoder_of_a_network_with_a_probe_learns_from_the_first_step() -> None:
    torch.manual_seed(0)
    network = DeepLabV3Plus(encoder=ENCODERS["resnet10_small"](), num_classes=3, probe=True)
    network(torch.rand(2, 3, 64, 64)).logits.square().sum().backward()  # all zero: so is this gradient
    network(torch.rand(2, 3, 64, 64)).logits.sum().backward()
    last = network.classifier[-1]
    assert last.weight.grad is not None
    assert last.weight.grad.abs().sum() > 0


@pytest.mark.parametrize("name", ["resnet10_small", "mobilenet_v2", "efficientnet_lite0"])
def test_levels_begin_at_stride_four_and_have_the_channels_that_are_said(name) -> None:
    encoder = ENCODERS[name](output_stride=16).eval()
    images = torch.rand(1, 3, 64, 96)
    with torch.no_grad():
        levels = encoder.levels(images)
        output = encoder(images)
    assert tuple(level.shape[1] for level in levels) == encoder.level_channels
    assert levels[0].shape[2:] == (16, 24)
    assert levels[-1].shape[2:] == (4, 6)
    assert torch.equal(output.low, levels[0])
    assert torch.equal(output.high, levels[-1])


def test_the_same_levels_in_two_orders_of_memory_have_the_same_logits() -> None:
    torch.manual_seed(0)
    probe = random_probe((4, 4), 2)
    levels = torch.randn(1, 4, 8, 8), torch.randn(1, 4, 4, 4)
    last = [level.contiguous(memory_format=torch.channels_last) for level in levels]
    torch.testing.assert_close(probe(levels, (8, 8)), probe(last, (8, 8)))
    assert resize(probe(levels, (8, 8)), (16, 16)).shape == (1, 2, 16, 16)
