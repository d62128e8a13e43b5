"""Every network in two halves: `decode(encode(images))` is `forward(images)`, also of foreign ones."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from recoseg.errors import UserError
from recoseg.models import with_representation
from recoseg.models.deeplab_v2 import DeepLabV2
from recoseg.models.deeplab_v3_plus import DeepLabV3Plus
from recoseg.models.encoders import ENCODERS
from recoseg.models.network import SegmentationNetwork


class Skipping(nn.Module):
    """A foreign network whose decoder reads two maps of its encoder, and asks for the images' size."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = _TwoMaps()
        self.head = nn.Conv2d(12, 3, 1)

    def forward(self, images: Tensor) -> Tensor:
        maps = self.encoder(images)
        deep = nn.functional.interpolate(maps["deep"], maps["fine"].shape[2:])
        logits = self.head(torch.cat([maps["fine"], deep], 1))
        return nn.functional.interpolate(logits, images.shape[2:])


class _TwoMaps(nn.Module):
    calls = 0

    def __init__(self) -> None:
        super().__init__()
        self.fine, self.norm = nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.BatchNorm2d(4)
        self.deep = nn.Conv2d(4, 8, 3, stride=2, padding=1)

    def forward(self, images: Tensor) -> dict[str, Tensor]:
        self.calls += 1
        fine = self.norm(self.fine(images)).relu()
        return {"fine": fine, "deep": self.deep(fine)}


def _deeplab(kind: type[DeepLabV2] | type[DeepLabV3Plus]) -> SegmentationNetwork:
    return kind(encoder=ENCODERS["resnet10_small"](output_stride=16), num_classes=3, feature_channels=5)


def _transformer() -> SegmentationNetwork:
    transformers = pytest.importorskip("transformers")
    config = transformers.SegformerConfig(
        num_labels=3, depths=[1] * 4, hidden_sizes=[8] * 4, decoder_hidden_size=8, num_attention_heads=[1] * 4
    )
    network = transformers.SegformerForSemanticSegmentation(config)
    return with_representation(network, num_classes=3, feature_channels=5)


NETWORKS = {
    "DeepLabV2": lambda: _deeplab(DeepLabV2),
    "DeepLabV3+": lambda: _deeplab(DeepLabV3Plus),
    "foreign": lambda: with_representation(Skipping(), num_classes=3, feature_channels=5),
    "transformers": _transformer,
}


@pytest.mark.parametrize("name", NETWORKS)
def test_the_halves_are_the_whole(name: str) -> None:
    torch.manual_seed(0)
    network, images = NETWORKS[name]().eval(), torch.rand(2, 3, 64, 96)
    with torch.no_grad():
        whole, halves = network(images), network.decode(network.encode(images))
    assert torch.equal(whole.logits, halves.logits)
    assert whole.features is not None
    assert halves.features is not None
    assert torch.equal(whole.features, halves.features)


@pytest.mark.parametrize("name", NETWORKS)
def test_changed_maps_change_the_answer_and_may_be_of_more_images(name: str) -> None:
    torch.manual_seed(0)
    network, images = NETWORKS[name]().eval(), torch.rand(2, 3, 64, 96)
    with torch.no_grad():
        encoded = network.encode(images)
        both = encoded.with_maps([torch.cat([one, 0 * one]) for one in encoded.maps])
        logits = network.decode(both).logits
        assert len(logits) == 4
        torch.testing.assert_close(logits[:2], network(images).logits)
        assert not torch.allclose(logits[2:], logits[:2])


def test_the_encoder_of_a_foreign_network_works_once_and_learns_from_each_decoding() -> None:
    network = with_representation(Skipping(), num_classes=3, feature_channels=None).train()
    before = network.network.encoder.calls, network.network.encoder.norm.num_batches_tracked.item()
    encoded = network.encode(torch.rand(2, 3, 32, 32))
    loss = network.decode(encoded).logits.mean() + network.decode(encoded).logits.square().mean()
    loss.backward()
    after = network.network.encoder.calls, network.network.encoder.norm.num_batches_tracked.item()
    assert (after[0] - before[0], after[1] - before[1]) == (1, 1)
    assert all(parameter.grad is not None for parameter in network.network.parameters())
    assert "forward" not in vars(network.network.encoder)  # it answers for itself again


CHANNELS = {"DeepLabV2": 256, "DeepLabV3+": 304, "foreign": 12, "transformers": 8}
SIZES = {"DeepLabV2": (4, 6), "DeepLabV3+": (16, 24), "foreign": (32, 48), "transformers": (16, 24)}


@pytest.mark.parametrize("name", NETWORKS)
def test_the_map_that_the_classifier_reads_can_be_taken(name: str) -> None:
    torch.manual_seed(0)
    network, images = NETWORKS[name](), torch.rand(2, 3, 64, 96)
    before = [len(module._forward_pre_hooks) for module in network.modules()]
    with network.tapped_decoder() as taken:
        output = network(images)
    decoded = taken((64, 96))
    assert decoded.shape == (2, CHANNELS[name], *SIZES[name])
    assert network.decoded_channels() == CHANNELS[name]
    (gradient,) = torch.autograd.grad(output.logits.sum(), decoded)
    assert gradient.any()  # it is what the logits are made of
    assert [len(module._forward_pre_hooks) for module in network.modules()] == before


def test_a_foreign_network_without_a_representation_head_shows_its_decoders_map_too() -> None:
    network = with_representation(Skipping(), num_classes=3, feature_channels=None, multiple_of=16)
    assert network.decoded_channels() == 12
    with network.tapped_decoder() as taken:
        network(torch.rand(2, 3, 40, 50))  # padded to 48 x 64
    assert taken((40, 50)).shape == (2, 12, 20, 25)


def test_a_network_that_does_not_say_what_its_classifier_reads_is_told_so() -> None:
    with pytest.raises(UserError, match="SegmentationNetwork does not say what its classifier reads"):
        SegmentationNetwork().decoded_channels()


def test_a_network_without_an_encoder_by_name_says_so() -> None:
    plain = with_representation(nn.Conv2d(3, 3, 1), num_classes=3, feature_channels=None)
    with pytest.raises(UserError, match="Conv2d has no part named base_model, backbone or encoder"):
        plain.encode(torch.rand(1, 3, 8, 8))
