"""DeepLabV3+: shapes, sizes, and what it refuses."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from recoseg.errors import UserError
from recoseg.models.deeplab_v3_plus import DeepLabV3Plus
from recoseg.models.encoders import ENCODERS
from recoseg.models.encoders.mobilenet_v2 import MobileNetV2


def network(**settings) -> DeepLabV3Plus:
    return DeepLabV3Plus(encoder=MobileNetV2(), **{"num_classes": 5, "decoder_width": 16, **settings})


def count(module: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize("size", [(64, 64), (65, 33), (16, 100), (16, 16)])
def test_logits_come_at_a_quarter_of_any_size(size) -> None:
    output = network().eval()(torch.rand(1, 3, *size))
    assert output.logits.shape == (1, 5, -(-size[0] // 4), -(-size[1] // 4))
    assert output.features is None


@pytest.mark.parametrize("separable", [False, True])
def test_all_classes_are_about_as_likely_at_the_start(separable) -> None:
    torch.manual_seed(0)
    model = network(decoder_width=128, separable=separable)
    with torch.no_grad():
        probabilities = model(torch.rand(2, 3, 64, 64)).logits.softmax(1)
    assert (probabilities - 1 / 5).abs().max() < 0.15


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_dropout_is_that_of_the_pyramid_in_training_alone(dropout) -> None:
    model, images = network(dropout=dropout), torch.rand(2, 3, 64, 64)
    with torch.no_grad():
        first, second = (model.train()(images).logits for _ in range(2))
        assert torch.equal(first, second) == (dropout == 0)
        pyramid = model.aspp(torch.rand(2, 320, 8, 8))
        assert (pyramid == 0).float().mean().item() == pytest.approx(0.5 + dropout / 2, abs=0.1)
        first, second = (model.eval()(images).logits for _ in range(2))
        assert torch.equal(first, second)


def test_parameter_counts_are_those_of_the_layers() -> None:
    width, classes = 256, 19
    aspp = 320 * width + 3 * 9 * 320 * width + 320 * width + 5 * width * width + 6 * 2 * width
    low = 24 * 48 + 2 * 48
    classifier = 9 * (width + 48) * width + 2 * width + width * classes + classes
    model = network(num_classes=classes, decoder_width=width)
    assert count(model) == count(MobileNetV2()) + aspp + low + classifier


def test_separable_convolutions_have_the_counts_of_their_layers() -> None:
    width, classes = 128, 5
    pyramid = 320 * width + 3 * (9 * 320 + 2 * 320 + 320 * width) + 320 * width + 5 * width * width
    aspp = pyramid + 6 * 2 * width
    low = 24 * 48 + 2 * 48
    decoded = width + 48
    classifier = 9 * decoded + 2 * decoded + decoded * width + 2 * width + width * classes + classes
    model = network(decoder_width=width, separable=True)
    assert count(model) == count(model.encoder) + aspp + low + classifier
    assert model.eval()(torch.rand(1, 3, 32, 32)).logits.shape == (1, 5, 8, 8)


def test_the_papers_network_has_these_sizes_and_counts() -> None:
    """ResNet-101 at stride 16 with a 304-channel decoder, 19 classes and 256 features: 59.5 million."""
    with torch.device("meta"):
        encoder = ENCODERS["resnet101"](output_stride=16)
        model = DeepLabV3Plus(encoder=encoder, num_classes=19, feature_channels=256).eval()
        output = model(torch.rand(2, 3, 512, 512))
    aspp = 2048 * 256 + 3 * 9 * 2048 * 256 + 2048 * 256 + 5 * 256 * 256 + 6 * 2 * 256
    low = 256 * 48 + 2 * 48
    heads = [9 * 304 * 256 + 2 * 256 + 256 * outputs + outputs for outputs in (19, 256)]
    # ResNet-101: 44,549,160 in torchvision, with 2048 * 1000 + 1000 in its classifier
    assert count(model) == 44_549_160 - 2_049_000 + aspp + low + sum(heads)
    assert output.logits.shape == (2, 19, 128, 128)
    assert output.features.shape == (2, 256, 128, 128)


@pytest.mark.parametrize("output_stride", [8, 16, 32])
def test_logits_come_at_a_quarter_whatever_the_encoders_stride(output_stride) -> None:
    model = DeepLabV3Plus(encoder=MobileNetV2(output_stride=output_stride), num_classes=5, decoder_width=16)
    seen = []
    model.aspp.register_forward_pre_hook(lambda module, inputs: seen.append(tuple(inputs[0].shape)))
    assert model.eval()(torch.rand(1, 3, 64, 96)).logits.shape == (1, 5, 16, 24)
    assert seen == [(1, 320, 64 // output_stride, 96 // output_stride)]


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


def test_enlarge_inside_the_network_equals_enlarged_images() -> None:
    def network(enlarge: float) -> DeepLabV3Plus:
        torch.manual_seed(0)
        encoder = ENCODERS["resnet10_small"]()
        return DeepLabV3Plus(encoder=encoder, num_classes=3, probe=True, enlarge=enlarge).eval()

    images = torch.rand(1, 3, 32, 48)
    larger = F.interpolate(images, size=(48, 72), mode="bilinear")
    inside, outside = network(1.5)(images).logits, network(1)(larger).logits
    assert inside.shape == (1, 3, 12, 18)
    torch.testing.assert_close(inside, outside)
