"""Losses between soft answers, against values by hand."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from recoseg.losses.consistency import cells_inside, divergence, squared_error

HALF_AND_HALF = torch.zeros(1, 2, 1, 3)  # logits


def _target(*first: float) -> Tensor:
    """(1, 2, 1, W): the probability of the first class in each cell."""
    chances = torch.tensor(first)
    return torch.stack([chances, 1 - chances])[None, :, None]


def test_squared_error_is_a_mean_over_classes_and_cells() -> None:
    assert squared_error(HALF_AND_HALF, _target(0.75, 0.75, 0.75)).item() == pytest.approx(0.0625)
    assert squared_error(HALF_AND_HALF, _target(0.75, 0.5, 0.5)).item() == pytest.approx(0.0625 / 3)


def test_divergence_is_a_sum_over_classes() -> None:
    expected = 0.75 * math.log(1.5) + 0.25 * math.log(0.5)
    assert divergence(HALF_AND_HALF, _target(0.75, 0.75, 0.75)).item() == pytest.approx(expected)
    assert divergence(HALF_AND_HALF, _target(1.0, 1.0, 1.0)).item() == pytest.approx(math.log(2))


@pytest.mark.parametrize("loss", [squared_error, divergence])
def test_padding_leaves_numerator_and_denominator(loss) -> None:
    inside = torch.tensor([[[True, False, True]]])
    whole = loss(HALF_AND_HALF[..., :2], _target(0.9, 0.2))
    assert loss(HALF_AND_HALF, _target(0.9, 0.6, 0.2), inside).item() == pytest.approx(whole.item())


@pytest.mark.parametrize("loss", [squared_error, divergence])
def test_a_mean_over_nothing_is_zero_and_has_a_gradient(loss) -> None:
    logits = HALF_AND_HALF.clone().requires_grad_()
    nothing = loss(logits, _target(0.9, 0.6, 0.2), torch.zeros(1, 1, 3, dtype=torch.bool))
    nothing.backward()
    assert nothing.item() == 0
    assert logits.grad is not None
    assert not logits.grad.any()


def test_a_cell_is_inside_where_its_middle_is() -> None:
    inside = torch.zeros(1, 4, 8, dtype=torch.bool)
    inside[:, :, :7] = True
    assert cells_inside(inside, (1, 2)).tolist() == [[[True, True]]]
    assert cells_inside(inside, (2, 4)).tolist() == [[[True, True, True, False]] * 2]
    assert cells_inside(None, (2, 4)) is None
    assert cells_inside(inside, (4, 8)) is inside
