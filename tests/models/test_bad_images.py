"""What our networks say of images that they cannot take, and that saying so costs nothing in a graph."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from recoseg.errors import UserError
from recoseg.models.deeplab_v2 import DeepLabV2
from recoseg.models.deeplab_v3_plus import DeepLabV3Plus
from recoseg.models.encoders import Encoder
from recoseg.models.encoders.mobilenet_v2 import MobileNetV2
from recoseg.models.network import require_images


def network(kind, *, output_stride=16):
    return kind(encoder=MobileNetV2(output_stride=output_stride), num_classes=3).eval()


@pytest.mark.parametrize("kind", [DeepLabV2, DeepLabV3Plus])
@pytest.mark.parametrize(
    ("images", "message"),
    [
        (torch.rand(2, 1, 32, 32), r"3 channels, \(B, 3, H, W\), got \(2, 1, 32, 32\); repeat the grey one"),
        (torch.rand(2, 4, 32, 32), r"got \(2, 4, 32, 32\); leave out the last: images\[:, :3\]"),
        (torch.rand(2, 32, 32, 3), r"got \(2, 32, 32, 3\); the second size is that of the channels"),
        (torch.rand(3, 32, 32), r"\(B, 3, H, W\), got \(3, 32, 32\); add the batch: images\[None\]"),
        (torch.rand(32, 32), r"\(B, 3, H, W\), got \(32, 32\)"),
        (torch.zeros(2, 3, 32, 32, dtype=torch.uint8), r"floats in \[0, 1\], got torch.uint8; divide by 255"),
        (torch.rand(2, 3, 15, 64), "images of 15x64 pixels .* pad them to 16x16 at least"),
        (torch.rand(2, 3, 64, 1), "images of 64x1 pixels are smaller than the network's stride"),
        (torch.rand(2, 3, 0, 0), "images of 0x0 pixels"),
    ],
)
def test_images_of_another_kind_are_refused_in_one_line(kind, images, message) -> None:
    with pytest.raises(UserError, match=message) as caught:
        network(kind)(images)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", [DeepLabV2, DeepLabV3Plus])
@pytest.mark.parametrize("output_stride", [8, 16, 32])
def test_the_smallest_side_is_the_stride(kind, output_stride) -> None:
    model = network(kind, output_stride=output_stride)
    assert model(torch.rand(1, 3, output_stride, output_stride + 1)).logits.isfinite().all()
    with pytest.raises(UserError, match=f"{output_stride - 1}x64"):
        model(torch.rand(1, 3, output_stride - 1, 64))


class TwoConvolutions(Encoder):
    """An encoder that is quick to export."""

    level_channels, output_stride = (4, 8), 16

    def __init__(self) -> None:
        super().__init__()
        self.low = nn.Conv2d(3, 4, 3, stride=4, padding=1)
        self.high = nn.Conv2d(4, 8, 3, stride=4, padding=1)

    def levels(self, images):
        low = self.low(images)
        return low, self.high(low)


class LogitsOnly(nn.Module):
    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, images):
        return self.network(images).logits


@pytest.mark.parametrize("probe", [False, True])
@pytest.mark.parametrize("kind", [DeepLabV2, DeepLabV3Plus])
def test_a_network_exports_with_sizes_left_open(kind, probe) -> None:
    model = kind(encoder=TwoConvolutions(), num_classes=3, probe=probe).eval()
    if model.probe is not None:
        torch.nn.init.normal_(model.probe.weight)
    open_sizes = {0: torch.export.Dim.AUTO, 2: torch.export.Dim.AUTO, 3: torch.export.Dim.AUTO}
    exported = torch.export.export(
        LogitsOnly(model), (torch.rand(2, 3, 64, 96),), dynamic_shapes={"images": open_sizes}
    )
    for size in [(3, 3, 48, 80), (2, 3, 33, 17)]:
        images = torch.rand(size)
        torch.testing.assert_close(exported.module()(images), model(images).logits)


class Checked(nn.Module):
    def forward(self, images):
        require_images(images, smallest=64)
        return images + 1


def test_the_check_leaves_no_trace_in_an_exported_graph() -> None:
    """What the graph can do is the graph's affair: it does not insist on the size that a network asks for."""
    open_sizes = {2: torch.export.Dim.AUTO, 3: torch.export.Dim.AUTO}
    exported = torch.export.export(
        Checked(), (torch.rand(2, 3, 96, 96),), dynamic_shapes={"images": open_sizes}
    )
    images = torch.rand(2, 3, 32, 48)
    assert torch.equal(exported.module()(images), images + 1)
    with pytest.raises(UserError, match="images of 32x48 pixels"):
        Checked()(images)


def test_while_a_network_is_compiled_the_check_looks_at_nothing(monkeypatch) -> None:
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    require_images(torch.zeros(1), smallest=4)
