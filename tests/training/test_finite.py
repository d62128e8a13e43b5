"""A loss or weights that are not finite stop a run, with the place."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from recoseg.errors import UserError
from recoseg.training.early_end import require_finite_loss, require_finite_weights
from recoseg.types import StepOutput


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_loss_that_is_not_finite_tells_iteration_parts_and_images(value) -> None:
    parts = {"supervised": torch.tensor(0.5), "contrast": torch.tensor(value)}
    with pytest.raises(UserError) as caught:
        require_finite_loss(StepOutput(loss=torch.tensor(value), parts=parts), 12, ("a.png", "b.png"))
    expected = (
        f"the loss is {value} at iteration 12 (supervised 0.5, contrast {value:g}) on images a.png, b.png"
    )
    assert str(caught.value).startswith(expected)


def test_a_finite_loss_passes() -> None:
    require_finite_loss(StepOutput(loss=torch.tensor(1e30)), 1, ())


def test_weights_that_are_not_finite_are_named() -> None:
    network = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    require_finite_weights(network, 3)
    with torch.no_grad():
        network[1].weight[0, 1] = float("nan")
    with pytest.raises(UserError, match=r"the weights 1\.weight are not finite after iteration 3"):
        require_finite_weights(network, 3)
