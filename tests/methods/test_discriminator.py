"""Discriminators: their layers, their sizes, and asking them without teaching them."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from recoseg.errors import UserError
from recoseg.methods.parts.discriminator import Discriminator, PixelDiscriminator, class_maps
from recoseg.methods.parts.second_networks import asked_and_taught, without_learning
from recoseg.types import IGNORE


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
    judgement = without_learning(discriminator, images, maps)
    assert torch.equal(judgement.scores, plain.scores)
    (judgement.scores.sum() + judgement.features.sum()).backward()
    assert maps.grad is not None
    assert maps.grad.abs().sum() > 0
    assert all(parameter.grad is None for parameter in discriminator.parameters())
    assert all(parameter.requires_grad for parameter in discriminator.parameters())


def test_a_true_map_is_one_hot_and_empty_where_there_is_no_label() -> None:
    maps = class_maps(torch.tensor([[[0, 2], [IGNORE, 1]]]), 3)
    assert maps.int().tolist() == [[[[1, 0], [0, 0]], [[0, 0], [0, 1]], [[0, 1], [0, 0]]]]


def of_pixels(**settings) -> PixelDiscriminator:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return PixelDiscriminator(4, who="it", **settings)


FLAWS = {"widths": (6, 8, 8), "strides": (2, 1, 2), "norm": "half"}


def test_a_discriminator_of_pixels_equals_a_plain_reading_of_its_layers() -> None:
    discriminator = of_pixels()
    convolutions = [layer for layer in discriminator.layers if isinstance(layer, nn.Conv2d)]
    assert [c.out_channels for c in convolutions] == [64, 128, 256, 512, 1]
    _, maps = asked((64, 40))
    x = maps
    for layer in convolutions:
        x = nn.functional.conv2d(x, layer.weight, layer.bias, stride=2, padding=1)
        x = torch.where(x > 0, x, 0.2 * x) if layer is not convolutions[-1] else x
    assert x.shape == (2, 1, 2, 1)
    # the score of a pixel between the middles of two cells, 16 and 48 pixels down, is a mean of both
    scores = discriminator(maps)
    assert scores.shape == (2, 64, 40)
    torch.testing.assert_close(scores[:, 0, 5], x[:, 0, 0, 0])
    torch.testing.assert_close(scores[:, 31:33, 39].mean(1), x[:, 0].mean((1, 2)))


def test_half_of_the_channels_are_normalised_over_the_batch_and_half_in_their_image() -> None:
    discriminator = of_pixels(**FLAWS)
    _, maps = asked((20, 20), count=3)
    x = nn.functional.conv2d(maps, discriminator.layers[0].weight, discriminator.layers[0].bias, 2, 1)
    normal = discriminator.layers[1](x)
    batch, image = x[:, :3], x[:, 3:]
    mean, spread = batch.mean((0, 2, 3), keepdim=True), batch.var((0, 2, 3), unbiased=False, keepdim=True)
    torch.testing.assert_close(normal[:, :3], (batch - mean) / (spread + 1e-5).sqrt())
    mean, spread = image.mean((2, 3), keepdim=True), image.var((2, 3), unbiased=False, keepdim=True)
    torch.testing.assert_close(normal[:, 3:], (image - mean) / (spread + 1e-5).sqrt())


@pytest.mark.parametrize(
    ("strides", "smallest"), [((2, 2, 2, 2), 32), ((2, 2, 1, 2, 1, 2, 1), 60), ((2, 1, 2), 10)]
)
def test_the_smallest_image_of_a_discriminator_of_pixels_leaves_one_cell(strides, smallest) -> None:
    discriminator = of_pixels(widths=[2] * len(strides), strides=strides)
    _, maps = asked((smallest, smallest))
    assert discriminator.layers(maps).shape[2:] == (1, 1)
    with pytest.raises(UserError, match=f"it needs images of at least {smallest}x{smallest} pixels, got "):
        discriminator(maps[:, :, 1:])


def test_more_than_one_cell_may_be_needed() -> None:
    discriminator = of_pixels(widths=[2] * 7, strides=(2, 2, 1, 2, 1, 2, 1), least_cells=2)
    _, maps = asked((92, 92))
    assert discriminator.layers(maps).shape[2:] == (2, 2)
    with pytest.raises(UserError, match="it needs images of at least 92x92 pixels, got 92x91"):
        discriminator(maps[..., 1:])


def test_asked_without_learning_statistics_of_batches_stay_as_they_are() -> None:
    discriminator = of_pixels(**FLAWS)
    _, maps = asked((20, 20))
    before = {name: buffer.clone() for name, buffer in discriminator.named_buffers()}
    asked_only = without_learning(discriminator, maps.requires_grad_())
    asked_only.sum().backward()
    assert maps.grad.any()
    assert before
    assert all(torch.equal(buffer, before[name]) for name, buffer in discriminator.named_buffers())
    assert all(parameter.grad is None for parameter in discriminator.parameters())
    assert torch.equal(asked_only, discriminator(maps))
    assert not all(torch.equal(buffer, before[name]) for name, buffer in discriminator.named_buffers())


class Reader(nn.Module):
    """A network of two inputs with BatchNorm."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.layers = nn.Sequential(
            nn.Conv2d(5, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Conv2d(4, 1, 3)
        )

    def forward(self, images: Tensor, maps: Tensor) -> Tensor:
        return self.layers(torch.cat([images, maps], 1))


def test_one_pass_asks_and_teaches_as_two_would() -> None:
    """Other gradients for both answers: none of them may reach what it should not."""
    networks = [Reader().double(), Reader().double()]
    torch.manual_seed(2)
    images, maps = torch.rand(2, 3, 9, 9, dtype=torch.float64), torch.rand(2, 2, 9, 9, dtype=torch.float64)
    weights = torch.rand(2, 2, 1, 5, 5, dtype=torch.float64)
    apart, joined = (maps.clone().requires_grad_() for _ in networks)
    asked, taught = without_learning(networks[0], images, apart), networks[0](images, maps)
    (asked * weights[0] + 3 * taught * weights[1]).sum().backward()
    both = asked_and_taught(networks[1], images, joined)
    for found, expected in zip(both, (asked, taught), strict=True):
        torch.testing.assert_close(found, expected)
    (both[0] * weights[0] + 3 * both[1] * weights[1]).sum().backward()
    torch.testing.assert_close(joined.grad, apart.grad)
    for one, other in zip(*(network.parameters() for network in networks), strict=True):
        torch.testing.assert_close(one.grad, other.grad)
    for one, other in zip(*(network.buffers() for network in networks), strict=True):
        torch.testing.assert_close(one, other)  # statistics entered once in both


def test_one_pass_serves_where_one_of_the_answers_teaches_nothing() -> None:
    network, images = Reader(), torch.rand(2, 3, 9, 9)
    maps = torch.rand(2, 2, 9, 9, requires_grad=True)
    asked, _ = asked_and_taught(network, images, maps)
    asked.sum().backward()
    assert maps.grad.any()
    assert not any(parameter.grad.any() for parameter in network.parameters())
    maps.grad, calls = None, []
    network.register_forward_pre_hook(lambda *_: calls.append(1))
    _, taught = asked_and_taught(network, images, maps)
    taught.sum().backward()
    assert not maps.grad.any()
    assert network.layers[3].bias.grad.any()
    assert len(calls) == 1


def test_one_pass_serves_networks_with_frozen_layers_and_inputs_that_learn_nothing() -> None:
    network, images, maps = Reader(), torch.rand(2, 3, 9, 9), torch.rand(2, 2, 9, 9)
    network.layers[0].requires_grad_(False)
    asked, taught = asked_and_taught(network, images, maps)
    (asked + taught).sum().backward()
    assert network.layers[0].weight.grad is None
    assert network.layers[3].weight.grad.any()
    network.requires_grad_(False)
    maps.requires_grad_()
    asked, _ = asked_and_taught(network, images, maps)
    asked.sum().backward()
    assert maps.grad.any()
