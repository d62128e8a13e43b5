"""Z and R: what a classifier reads and what the representation head gives, of any network and image size."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from recoseg.evaluate.pixel_embeddings import Embedder
from recoseg.models.deeplab_v2 import DeepLabV2
from recoseg.models.deeplab_v3_plus import DeepLabV3Plus
from recoseg.models.encoders import ENCODERS
from recoseg.models.representation import with_representation

CPU = torch.device("cpu")


def images_of(height: int, width: int) -> torch.Tensor:
    return torch.randint(0, 256, (2, 3, height, width), generator=torch.Generator().manual_seed(1)).to(
        torch.uint8
    )


def encoder():
    return next(iter(ENCODERS.values()))(output_stride=16)


@pytest.mark.parametrize("num_classes", [5, 8])  # 8: as many as the decoder has channels
@pytest.mark.parametrize("feature_channels", [None, 8])
def test_deeplab_v3_plus_classifies_z_by_one_layer(num_classes, feature_channels) -> None:
    model = DeepLabV3Plus(
        encoder=encoder(), num_classes=num_classes, feature_channels=feature_channels, decoder_width=8
    ).eval()
    look = Embedder(model, num_classes=num_classes, device=CPU)(images_of(64, 96))
    z = look.embeddings["Z"]
    assert z.shape == (2, 8, 16, 24)
    with torch.no_grad():
        assert torch.equal(model.classifier[1](z), look.output.logits)
    assert list(look.embeddings) == (["Z"] if feature_channels is None else ["Z", "R"])
    if feature_channels:
        assert look.embeddings["R"].shape == (2, 8, 16, 24)
        assert torch.equal(look.embeddings["R"], look.output.features)


def test_deeplab_v2_classifies_z_by_its_pyramid() -> None:
    model = DeepLabV2(encoder=encoder(), num_classes=3, feature_channels=4).eval()
    look = Embedder(model, num_classes=3, device=CPU)(images_of(64, 64))
    with torch.no_grad():
        assert torch.equal(model.classifier(look.embeddings["Z"]), look.output.logits)
        assert torch.equal(model.representation(look.embeddings["Z"]), look.embeddings["R"])


def own_network(num_classes: int) -> nn.Module:
    body = nn.Sequential(nn.Conv2d(3, 6, 7, stride=4, padding=3), nn.ReLU())
    return nn.Sequential(body, nn.Conv2d(6, num_classes, 1), nn.Upsample(scale_factor=4))


@pytest.mark.parametrize("feature_channels", [None, 8])
@pytest.mark.parametrize("size", [(32, 48), (33, 47), (1, 1), (5, 200)])
def test_a_network_of_ones_own_has_z_at_any_size(feature_channels, size) -> None:
    network = own_network(3)
    model = with_representation(
        network, num_classes=3, feature_channels=feature_channels, multiple_of=4
    ).eval()
    look = Embedder(model, num_classes=3, device=CPU)(images_of(*size))
    z = look.embeddings["Z"]
    assert z.shape[1] == 6
    cells = [max(1, round(side / 4)) for side in size]
    assert list(z.shape[2:]) == cells
    assert ("R" in look.embeddings) == (feature_channels is not None)
    if size == (32, 48):
        with torch.no_grad():
            assert torch.equal(network[2](network[1](z)), look.output.logits)
    for module in model.modules():  # a network that was looked at is as before
        assert not module._forward_pre_hooks
        assert not module._forward_hooks


class Multiplied(nn.Module):
    """Logits from a product, which no layer makes."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Conv2d(3, 6, 1)
        self.last = nn.Conv2d(6, 4, 1)
        self.classes = nn.Parameter(torch.ones(3, 4))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return torch.einsum("kc,bchw->bkhw", self.classes, self.last(self.body(images)))


def test_where_no_layer_makes_the_logits_z_is_what_the_head_was_put_at_or_absent() -> None:
    told = with_representation(Multiplied(), num_classes=3, feature_channels=2, at="last").eval()
    assert Embedder(told, num_classes=3, device=CPU)(images_of(32, 32)).embeddings["Z"].shape[1] == 6
    untold = with_representation(Multiplied(), num_classes=3, feature_channels=None).eval()
    assert Embedder(untold, num_classes=3, device=CPU)(images_of(32, 32)).embeddings == {}
