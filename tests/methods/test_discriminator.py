"""The discriminator of S4GAN: its layers, sizes and the two ways to ask it."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from recoseg.errors import UserError
from recoseg.methods.parts.discriminator import Discriminator


@pytest.fixture
def discriminator() -> Discriminator:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Discriminator(4)


def asked(size: tuple[int, int], count: int = 2) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    images = torch.rand(count, 3, *size, generator=generator)
    return images, torch.randn(count, 4, *size, generator=generator).softmax(1)


def test_it_has_the_layers_of_the_paper(discriminator) -> None:
    kinds = [type(layer).__name__ for layer in discriminator.layers]
    assert kinds == ["Conv2d", "LeakyReLU", "Dropout2d"] * 3 + ["Conv2d", "LeakyReLU"]
    convolutions = [layer for layer in discriminator.layers if isinstance(layer, nn.Conv2d)]
    assert [tuple(c.weight.shape) for c in convolutions] == [
        (64, 7, 4, 4), (128, 64, 4, 4), (256, 128, 4, 4), (512, 256, 4, 4)
    ]  # fmt: skip
    assert {(c.stride, c.padding) for c in convolutions} == {((2, 2), (1, 1))}
    others = [layer for layer in discriminator.layers if not isinstance(layer, nn.Conv2d)]
    assert {getattr(layer, "negative_slope", None) for layer in others} == {0.2, None}
    assert {layer.p for layer in others if isinstance(layer, nn.Dropout2d)} == {0.5}


@pytest.mark.parametrize("size", [(16, 16), (33, 47), (64, 40), (65, 129)])
def test_images_of_any_size_get_512_features_and_one_score(discriminator, size) -> None:
    judgement = discriminator(*asked(size, count=3))
    assert judgement.features.shape == (3, 512)
    assert judgement.scores.shape == (3,)


def test_it_equals_a_plain_reading_of_its_layers(discriminator) -> None:
    discriminator.eval()
    images, maps = asked((33, 47))
    x = torch.cat([images, maps], 1)
    for layer in discriminator.layers:
        if isinstance(layer, nn.Conv2d):
            x = nn.functional.conv2d(x, layer.weight, layer.bias, stride=2, padding=1)
            x = torch.where(x > 0, x, 0.2 * x)
    assert x.shape[2:] == (2, 2)
    features = x.sum((2, 3)) / 4
    scores = (features * discriminator.score.weight).sum(1) + discriminator.score.bias
    judgement = discriminator(images, maps)
    torch.testing.assert_close(judgement.features, features)
    torch.testing.assert_close(judgement.scores, scores)


def test_an_image_that_four_halvings_would_use_up_is_refused(discriminator) -> None:
    with pytest.raises(UserError, match="at least 16x16 pixels, got 15x40: use larger crops"):
        discriminator(*asked((15, 40)))


def test_asked_without_learning_it_answers_the_same_and_only_the_maps_get_a_gradient(discriminator) -> None:
    discriminator.eval()
    images, maps = asked((32, 32))
    maps.requires_grad_()
    plain = discriminator(images, maps)
    judgement = discriminator.judge_without_learning(images, maps)
    assert torch.equal(judgement.scores, plain.scores)
    (judgement.scores.sum() + judgement.features.sum()).backward()
    assert maps.grad is not None
    assert maps.grad.abs().sum() > 0
    assert all(parameter.grad is None for parameter in discriminator.parameters())
    assert all(parameter.requires_grad for parameter in discriminator.parameters())
