"""The adversarial direction: where it is known in closed form, and what float32 makes of it."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from recoseg.methods.parts.adversarial_direction import adversarial_direction, unit_length


def logits_along(weights: torch.Tensor):
    """Of images (B, 3, 2, 2) a single cell (B, 2, 1, 1): (w . u, 0)."""

    def answer(images: torch.Tensor) -> torch.Tensor:
        first = (images * weights).sum((1, 2, 3))
        return torch.stack([first, torch.zeros_like(first)], 1)[:, :, None, None]

    return answer


def test_an_answer_of_one_line_is_most_at_risk_along_it(generator) -> None:
    weights = torch.randn(3, 2, 2, generator=generator)
    images = torch.rand(5, 3, 2, 2, generator=generator)
    answer = logits_along(weights)
    found = adversarial_direction(answer, images, answer(images).softmax(1), generator=generator)
    along = unit_length(weights[None])[0]
    for direction in found:
        sign = (direction * along).sum().sign()
        torch.testing.assert_close(sign * direction, along, rtol=1e-3, atol=1e-3)


def test_lengths_are_one_and_zero_stays_zero() -> None:
    vectors = torch.tensor([[[3.0, 4.0]], [[3e-30, 4e-30]], [[0.0, 0.0]]])
    expected = torch.tensor([[[0.6, 0.8]], [[0.6, 0.8]], [[0.0, 0.0]]])
    torch.testing.assert_close(unit_length(vectors), expected)


def test_an_answer_that_never_changes_has_no_direction(generator) -> None:
    def answer(images: torch.Tensor) -> torch.Tensor:
        return (images * 0).sum((1, 2, 3))[:, None, None, None].expand(-1, 2, 1, 1)

    images = torch.rand(2, 3, 4, 4)
    found = adversarial_direction(answer, images, torch.full((2, 2, 1, 1), 0.5), generator=generator)
    assert not found.any()


@pytest.fixture
def network(tiny_network):
    """A convolution and a classifier, with answers that vary from cell to cell."""
    network = tiny_network(norm=False)
    with torch.no_grad():
        network.classifier.weight.mul_(5)
    return network


def direction_of(network: nn.Module, images: torch.Tensor, **more: torch.Tensor) -> torch.Tensor:
    with torch.no_grad(), torch.autocast("cpu", enabled=False):
        target = network(images).logits.softmax(1)
    drawn = torch.Generator().manual_seed(0)
    return adversarial_direction(lambda x: network(x).logits, images, target, generator=drawn, **more)


def test_in_float32_it_is_that_of_float64(network, toy_batch) -> None:
    images = toy_batch(size=(64, 64)).images
    single = direction_of(network, images)
    wide = network.double()

    def answer(moved: torch.Tensor) -> torch.Tensor:
        return wide(moved.double()).logits

    with torch.no_grad():
        target = answer(images).softmax(1)
    drawn = torch.Generator().manual_seed(0)
    inputs, step = images.double(), torch.randn(images.shape, generator=_as_drawn(drawn))
    step = (1e-4 * (3 * 64 * 64) ** 0.5 * unit_length(step)).double().requires_grad_()
    changes = nn.functional.kl_div(answer(inputs + step).log_softmax(1), target, reduction="sum")
    (gradient,) = torch.autograd.grad(changes, step)
    cosine = (single.double() * unit_length(gradient)).flatten(1).sum(1)
    assert cosine.min() > 0.999


def _as_drawn(generator: torch.Generator) -> torch.Generator:
    return torch.Generator().manual_seed(int(torch.randint(2**62, (), generator=generator)))


def test_it_is_worse_than_a_random_one_of_the_same_length(network, toy_batch) -> None:
    images = toy_batch().images
    with torch.no_grad():
        target = network(images).logits.softmax(1)

        def change(direction: torch.Tensor) -> float:
            moved = network(images + 0.5 * direction).logits.log_softmax(1)
            return nn.functional.kl_div(moved, target, reduction="sum").item()

        found = change(direction_of(network, images))
        drawn = torch.Generator().manual_seed(1)
        others = [change(unit_length(torch.randn(images.shape, generator=drawn))) for _ in range(5)]
    assert found > 3 * max(others)


def test_cells_that_do_not_count_move_nothing_and_parameters_get_no_gradient(network, toy_batch) -> None:
    images = toy_batch().images
    inside = torch.ones(2, 16, 16, dtype=torch.bool)
    inside[:, :, 8:] = False
    found = direction_of(network, images, inside=inside)
    assert found[:, :, :, :15].any()
    assert not found[:, :, :, 17:].any()  # a cell reads one pixel to each side
    assert all(parameter.grad is None for parameter in network.parameters())


def test_mixed_precision_and_no_grad_around_it_change_nothing(network, toy_batch) -> None:
    images = toy_batch().images
    expected = direction_of(network, images)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(direction_of(network, images), expected)
