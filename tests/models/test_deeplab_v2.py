"""DeepLabV2: shapes, sizes and its summed pyramid."""

from __future__ import annotations

import pytest
import torch

from recoseg.models.deeplab_v2 import DeepLabV2
from recoseg.models.encoders import ENCODERS
from recoseg.models.encoders.mobilenet_v2 import MobileNetV2


def test_the_classifier_of_deeplab_v2_sums_four_dilations() -> None:
    network = DeepLabV2(encoder=MobileNetV2(output_stride=8), num_classes=3).eval()
    assert [branch.dilation[0] for branch in network.classifier.branches] == [6, 12, 18, 24]
    assert network(torch.rand(1, 3, 64, 64)).logits.shape == (1, 3, 8, 8)
    x = torch.rand(1, 320, 8, 8)
    expected = sum(branch(x) for branch in network.classifier.branches)
    torch.testing.assert_close(network.classifier(x), expected)


@pytest.mark.parametrize("output_stride", [8, 16])
@pytest.mark.parametrize("size", [(64, 64), (65, 33)])
def test_both_heads_come_at_the_encoders_stride(output_stride, size) -> None:
    encoder = MobileNetV2(output_stride=output_stride)
    network = DeepLabV2(encoder=encoder, num_classes=3, feature_channels=7).eval()
    output = network(torch.rand(1, 3, *size))
    places = (-(-size[0] // output_stride), -(-size[1] // output_stride))
    assert output.logits.shape == (1, 3, *places)
    assert output.features.shape == (1, 7, *places)


def test_the_papers_network_has_these_sizes_and_counts() -> None:
    """ResNet-101 at stride 8, four 3x3 convolutions to 21 classes, one 1x1 convolution to 256 features."""
    with torch.device("meta"):
        encoder = ENCODERS["resnet101"](output_stride=8)
        network = DeepLabV2(encoder=encoder, num_classes=21, feature_channels=256).eval()
        output = network(torch.rand(2, 3, 321, 321))
    classifier, representation = 4 * (9 * 2048 * 21 + 21), 2048 * 256 + 256
    # ResNet-101: 44,549,160 in torchvision, with 2048 * 1000 + 1000 in its classifier
    found = sum(parameter.numel() for parameter in network.parameters())
    assert found == 44_549_160 - 2_049_000 + classifier + representation
    assert output.logits.shape == (2, 21, 41, 41)
    assert output.features.shape == (2, 256, 41, 41)


def test_every_parameter_receives_a_gradient() -> None:
    network = DeepLabV2(encoder=MobileNetV2(output_stride=8), num_classes=3, feature_channels=7)
    output = network(torch.rand(2, 3, 32, 32))
    (output.logits.square().mean() + output.features.square().mean()).backward()
    assert [name for name, p in network.named_parameters() if p.grad is None] == []
