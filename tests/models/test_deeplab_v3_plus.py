"""DeepLabV3+: shapes, sizes, and what it refuses."""

from __future__ import annotations

import pytest
import torch

from recoseg.errors import UserError
from recoseg.models.deeplab_v3_plus import DeepLabV3Plus
from recoseg.models.encoders.mobilenet_v2 import MobileNetV2


def network(**settings) -> DeepLabV3Plus:
    return DeepLabV3Plus(encoder=MobileNetV2(), **{"num_classes": 5, "decoder_width": 16, **settings})


@pytest.mark.parametrize("size", [(64, 64), (65, 33), (16, 100), (1, 1)])
def test_logits_come_at_a_quarter_of_any_size(size) -> None:
    output = network().eval()(torch.rand(1, 3, *size))
    assert output.logits.shape == (1, 5, -(-size[0] // 4), -(-size[1] // 4))
    assert output.features is None


def test_parameter_counts_are_those_of_the_layers() -> None:
    width, classes = 256, 19
    aspp = 320 * width + 3 * 9 * 320 * width + 320 * width + 5 * width * width + 6 * 2 * width
    low = 24 * 48 + 2 * 48
    classifier = 9 * (width + 48) * width + 2 * width + width * classes + classes
    encoder = sum(p.numel() for p in MobileNetV2().parameters())
    model = network(num_classes=classes, decoder_width=width)
    assert sum(p.numel() for p in model.parameters()) == encoder + aspp + low + classifier


def test_separable_convolutions_are_far_smaller() -> None:
    plain, separable = network(decoder_width=128), network(decoder_width=128, separable=True)
    sizes = [sum(p.numel() for p in model.parameters()) for model in (plain, separable)]
    assert sizes[1] < 0.7 * sizes[0]
    assert separable.eval()(torch.rand(1, 3, 32, 32)).logits.shape == (1, 5, 8, 8)


def test_training_on_a_single_image_says_what_to_do() -> None:
    with pytest.raises(UserError, match="at least 2 images"):
        network()(torch.rand(1, 3, 32, 32))


def test_every_parameter_receives_a_gradient() -> None:
    model = network()
    model(torch.rand(2, 3, 32, 32)).logits.square().mean().backward()
    assert [name for name, p in model.named_parameters() if p.grad is None] == []


def test_the_encoder_given_is_used_as_it_is() -> None:
    encoder = MobileNetV2()
    before = {name: tensor.clone() for name, tensor in encoder.state_dict().items()}
    model = DeepLabV3Plus(encoder=encoder, num_classes=3)
    assert all(torch.equal(before[name], tensor) for name, tensor in model.encoder.state_dict().items())


def test_images_are_normalised_inside() -> None:
    model = network().eval()
    seen = []
    model.encoder.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    model(torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1).expand(1, 3, 32, 32))
    assert seen[0].abs().max() < 1e-6
