"""The regional contrast against the plain one, which is read beside the paper."""

from __future__ import annotations

import pytest
import torch

from recoseg.losses.regional_contrast import RegionalContrast, plain_regional_contrast
from recoseg.types import IGNORE


@pytest.mark.parametrize("keys", ["per_query", "shared"])
@pytest.mark.parametrize("more", [{}, {"graph_temperature": 0.3}])
@pytest.mark.parametrize("seed", [0, 1])
def test_losses_and_gradients_of_many_draws_have_the_mean_of_the_plain_one(
    random_images, standard_errors_apart, seed: int, keys: str, more: dict[str, float]
) -> None:
    apart = standard_errors_apart(random_images(seed), {**more, "keys": keys}, more, draws=(600, 120))
    assert apart < 5  # at most, of 121 numbers


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
