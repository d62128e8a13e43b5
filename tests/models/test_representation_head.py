"""Two heads while training, one afterwards, at no cost."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from recoseg.models.deeplab_v2 import DeepLabV2
from recoseg.models.deeplab_v3_plus import DeepLabV3Plus
from recoseg.models.encoders.mobilenet_v2 import MobileNetV2


def networks(kind, **settings):
    """The same network with and without a representation head, with the same weights otherwise."""
    torch.manual_seed(0)
    encoder = {"encoder": MobileNetV2(output_stride=16), "num_classes": 5, **settings}
    with_head, without = kind(**encoder, feature_channels=32), kind(**{**encoder, "encoder": MobileNetV2()})
    shared = {k: v for k, v in with_head.state_dict().items() if not k.startswith("representation.")}
    without.load_state_dict(shared)
    return with_head, without.eval()


KINDS = [(DeepLabV3Plus, {"decoder_width": 16}), (DeepLabV2, {})]


@pytest.mark.parametrize(("kind", "settings"), KINDS)
def test_a_seed_gives_the_same_network_with_and_without_the_head(kind, settings) -> None:
    encoder = MobileNetV2()

    def drawn(channels: int | None) -> dict[str, torch.Tensor]:
        torch.manual_seed(3)
        return kind(encoder=encoder, num_classes=5, feature_channels=channels, **settings).state_dict()

    without, with_head = drawn(None), drawn(32)
    assert any(name.startswith("representation.") for name in with_head)
    assert without
    for name, weights in without.items():
        assert torch.equal(with_head[name], weights), name


@pytest.mark.parametrize(("kind", "settings"), KINDS)
def test_features_come_at_the_size_of_the_logits(kind, settings) -> None:
    with_head, without = networks(kind, **settings)
    output = with_head.eval()(torch.rand(1, 3, 65, 33))
    assert output.features.shape == (1, 32, *output.logits.shape[2:])
    assert without(torch.rand(1, 3, 65, 33)).features is None


@pytest.mark.parametrize(("kind", "settings"), KINDS)
def test_inference_is_exactly_the_network_that_never_had_the_head(kind, settings) -> None:
    with_head, without = networks(kind, **settings)
    stripped = with_head.inference()
    images = torch.rand(2, 3, 64, 64)
    assert [name for name, _ in stripped.named_parameters()] == [
        name for name, _ in without.named_parameters()
    ]
    with torch.no_grad():
        with FlopCounterMode(display=False) as ours:
            output = stripped(images)
        with FlopCounterMode(display=False) as plain:
            expected = without(images)
    assert torch.equal(output.logits, expected.logits)
    assert output.features is None
    assert ours.get_total_flops() == plain.get_total_flops() > 0


@pytest.mark.parametrize(("kind", "settings"), KINDS)
def test_taking_the_head_off_leaves_the_trained_network_as_it_was(kind, settings) -> None:
    with_head, _ = networks(kind, **settings)
    stripped = with_head.train().inference()
    assert not stripped.training
    assert with_head.training
    assert with_head(torch.rand(2, 3, 32, 32)).features is not None
    with torch.no_grad():
        next(stripped.parameters()).zero_()
    assert next(with_head.parameters()).abs().sum() > 0


@pytest.mark.parametrize(("stride", "rates"), [(8, (12, 24, 36)), (16, (6, 12, 18))])
def test_dilations_follow_the_encoders_stride(stride, rates) -> None:
    network = DeepLabV3Plus(encoder=MobileNetV2(output_stride=stride), num_classes=2, decoder_width=8)
    found = tuple(branch[0].dilation[0] for branch in list(network.aspp.branches)[1:4])
    assert found == rates


def test_the_papers_head_has_the_papers_size() -> None:
    network = DeepLabV3Plus(encoder=MobileNetV2(), num_classes=19, feature_channels=256)
    assert (
        sum(p.numel() for p in network.representation.parameters())
        == 9 * 304 * 256 + 2 * 256 + 256 * 256 + 256
    )
