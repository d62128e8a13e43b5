"""Pixel losses."""

from __future__ import annotations

import math

import pytest
import torch

from recoseg.losses.pixel import pixel_cross_entropy
from recoseg.types import IGNORE


def test_equal_logits_cost_the_log_of_the_number_of_classes() -> None:
    labels = torch.tensor([[[0, 1], [2, IGNORE]]])
    loss = pixel_cross_entropy(torch.zeros(1, 4, 2, 2), labels)
    assert loss.item() == pytest.approx(math.log(4))


def test_only_labelled_pixels_count() -> None:
    logits = torch.zeros(1, 2, 1, 2)
    logits[0, 0, 0, 0], logits[0, 0, 0, 1] = 1.0, 100.0
    loss = pixel_cross_entropy(logits, torch.tensor([[[0, IGNORE]]]))
    assert loss.item() == pytest.approx(-math.log(math.e / (math.e + 1)))


def test_nothing_labelled_costs_exactly_zero_and_stays_connected() -> None:
    logits = torch.randn(1, 3, 2, 2, requires_grad=True)
    loss = pixel_cross_entropy(logits, torch.full((1, 4, 4), IGNORE))
    loss.backward()
    assert loss.item() == 0
    assert logits.grad is not None
    assert torch.equal(logits.grad, torch.zeros_like(logits))


def test_logits_are_brought_to_the_size_of_the_labels() -> None:
    logits = torch.tensor([[[[4.0]], [[0.0]]]])
    small = pixel_cross_entropy(logits, torch.zeros(1, 1, 1, dtype=torch.int64))
    large = pixel_cross_entropy(logits, torch.zeros(1, 5, 7, dtype=torch.int64))
    assert large.item() == pytest.approx(small.item())
