"""Resizing: gradients by hand, and logits in the order that makes resizing fast."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from recoseg import with_representation
from recoseg.models import ENCODERS, DeepLabV2, DeepLabV3Plus
from recoseg.models.bilinear import resize


def test_a_cell_between_two_pixels_learns_from_its_neighbours_by_their_nearness():
    x = torch.zeros(1, 1, 1, 2, requires_grad=True)
    resize(x, (1, 4)).mul(torch.tensor([1.0, 10.0, 100.0, 1000.0])).sum().backward()
    # enlarged pixels lie at -1/4, 1/4, 3/4 and 5/4 of the way from the first cell to the second
    assert x.grad.flatten().tolist() == [1 + 7.5 + 25, 2.5 + 75 + 1000]


def deeplab(kind):
    return kind(encoder=ENCODERS["mobilenet_v2"](), num_classes=3)


def foreign():
    network = nn.Sequential(nn.Conv2d(3, 8, 3, 4, 1), nn.ReLU(), nn.Conv2d(8, 3, 1))
    return with_representation(network, num_classes=3, feature_channels=None)


@pytest.mark.parametrize(
    "build",
    [lambda: deeplab(DeepLabV2), lambda: deeplab(DeepLabV3Plus), foreign],
    ids=["v2", "v3+", "foreign"],
)
def test_logits_are_contiguous_whatever_order_images_have(build):
    model = build().to(memory_format=torch.channels_last)
    images = torch.rand(2, 3, 64, 64).contiguous(memory_format=torch.channels_last)
    assert model(images).logits.is_contiguous()
