"""The regional contrast against the plain one, which is read beside the paper."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from recoseg.losses.regional_contrast import RegionalContrast, plain_regional_contrast
from recoseg.types import IGNORE

SETTINGS = {"num_queries": 6, "num_keys": 3, "temperature": 0.5, "hard_below": 0.6}


def random_images(seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Two maps of 3x4 with four classes, some pixels ignored, features of several lengths."""
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(2, 5, 3, 4, generator=generator, dtype=torch.double) + 0.5
    labels = torch.randint(4, (2, 3, 4), generator=generator)
    labels[torch.rand(2, 3, 4, generator=generator) < 0.2] = IGNORE
    return features, labels, (4 * torch.rand(2, 4, 3, 4, generator=generator)).softmax(1)


@pytest.mark.parametrize("keys", ["per_query", "shared"])
@pytest.mark.parametrize("more", [{}, {"graph_temperature": 0.3}])
@pytest.mark.parametrize("seed", [0, 1])
def test_losses_and_gradients_of_many_draws_have_the_mean_of_the_plain_one(
    seed: int, keys: str, more: dict[str, float]
) -> None:
    features, labels, probabilities = random_images(seed)
    generator = torch.Generator().manual_seed(7)
    contrast = RegionalContrast(**SETTINGS, **more, keys=keys)  # type: ignore[arg-type]
    means = []
    for loss_of, count in (
        (contrast, 600),
        (lambda *a, **k: plain_regional_contrast(*a, **k, **SETTINGS, **more), 120),
    ):
        runs = []
        for _ in range(count):
            images = features.clone().requires_grad_()
            loss = loss_of(images, labels, probabilities, generator=generator)
            runs.append(torch.cat([loss.detach()[None], torch.autograd.grad(loss, images)[0].flatten()]))
        samples = torch.stack(runs)
        means.append((samples.mean(0), samples.var(0) / count))
    (fast, fast_error), (plain, plain_error) = means
    distance = (fast - plain).abs() / (fast_error + plain_error).sqrt().clamp(min=1e-12)
    assert distance.max() < 5  # of 121 numbers, in standard errors


def test_without_anything_to_draw_both_are_equal() -> None:
    """One pixel a class, two classes: every draw is the same."""
    features = torch.tensor([[3.0, 1.0], [0.5, -2.0]], dtype=torch.double).t()[None, :, None]  # (1, 2, 1, 2)
    labels, probabilities = torch.tensor([[[0, 1]]]), torch.full((1, 2, 1, 2), 0.5)
    gradients = []
    for loss_of in (RegionalContrast(), plain_regional_contrast):
        images = features.clone().requires_grad_()
        loss = loss_of(images, labels, probabilities)
        gradients.append((loss.item(), *torch.autograd.grad(loss, images)[0].flatten().tolist()))
    assert gradients[0] == pytest.approx(gradients[1], rel=1e-9)


@pytest.mark.parametrize("label", [0, IGNORE])
def test_both_are_zero_and_connected_where_there_is_nothing_to_compare(label: int) -> None:
    for loss_of in (RegionalContrast(), plain_regional_contrast):
        features = torch.ones(1, 3, 2, 2, requires_grad=True)
        loss = loss_of(features, torch.full((1, 2, 2), label), torch.full((1, 2, 2, 2), 0.5))
        assert loss == 0
        assert torch.autograd.grad(loss, features)[0].abs().sum() == 0
