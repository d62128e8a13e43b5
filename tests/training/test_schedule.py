"""The learning rate falls at every iteration."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from recoseg.builders.training import build_schedule
from recoseg.config.train_settings import AdamWOptimiser
from recoseg.errors import UserError
from recoseg.training.optimisers import cosine, poly, set_learning_rate, warmed_up


def test_poly_follows_the_papers_formula() -> None:
    assert poly(0, 100, power=0.9) == 1
    assert poly(50, 100, power=0.9) == pytest.approx(0.5**0.9)
    rates = [poly(t, 1000, power=0.9) for t in range(1000)]
    assert all(later < earlier for earlier, later in pairwise(rates))
    assert rates[-1] > 0


def test_each_group_keeps_its_own_first_rate() -> None:
    weights = [torch.zeros(1, requires_grad=True) for _ in range(2)]
    optimiser = torch.optim.SGD(
        [{"params": [weights[0]], "lr": 1.0}, {"params": [weights[1]], "lr": 10.0}], lr=0.1
    )
    for factor in (1.0, 0.5, 0.25):
        assert set_learning_rate(optimiser, factor) == factor
        assert [group["lr"] for group in optimiser.param_groups] == [factor, 10 * factor]


def test_cosine_falls_in_half_a_wave() -> None:
    rates = [cosine(t, 100) for t in range(100)]
    assert rates[0] == 1
    assert rates[50] == pytest.approx(0.5)
    assert rates[25] == pytest.approx((1 + 0.5**0.5) / 2)
    assert rates == sorted(rates, reverse=True)


def test_a_power_has_no_effect_on_a_cosine() -> None:
    section = AdamWOptimiser(schedule="cosine")
    assert build_schedule(section)(50, 100) == pytest.approx(0.5)
    with pytest.raises(UserError, match=r"optimiser\.power has no effect with optimiser\.schedule cosine"):
        build_schedule(AdamWOptimiser(schedule="cosine", power=2.0))


def test_warm_up_rises_linearly_and_then_leaves_the_schedule_as_it_is() -> None:
    rates = [warmed_up(t, 100, schedule=cosine, warm_up=4) / cosine(t, 100) for t in range(10)]
    assert rates == pytest.approx([0.2, 0.4, 0.6, 0.8, 1, 1, 1, 1, 1, 1])
    assert build_schedule(AdamWOptimiser(warm_up=4))(1, 100) == pytest.approx(0.4 * 0.99**0.9)
