"""The hardest share of each class as queries, against a plain loop over classes."""

from __future__ import annotations

import math

import pytest
import torch

from recoseg import RegionalContrast
from recoseg.errors import UserError
from recoseg.losses.regional_contrast.choosing import hardest


@pytest.mark.parametrize("share", [0.01, 0.25, 0.5, 1.0])
def test_it_is_the_share_of_each_class_with_the_lowest_probability(share) -> None:
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(0, 5, (2, 9, 7), generator=generator)  # 4: takes no part
    own = torch.rand(2, 9, 7, generator=generator).masked_fill(labels == 4, float("nan"))
    chosen = hardest(own, labels, 4, share).view_as(labels)
    assert not chosen[labels == 4].any()
    for label in range(4):
        mine, taken = own[labels == label], own[(labels == label) & chosen]
        assert len(taken) == max(1, math.ceil(len(mine) * share))
        assert taken.max() <= mine.sort().values[len(taken) - 1]


def test_a_class_that_is_absent_or_single_is_no_trouble() -> None:
    labels = torch.tensor([[[0, 2, 3]]])
    chosen = hardest(torch.tensor([[[0.9, 1.0, float("nan")]]]), labels, 3, 0.25)
    assert chosen.tolist() == [True, True, False]


def test_sure_pixels_are_queries_too_where_a_share_is_asked_for() -> None:
    features = torch.tensor([[[[1.0, 0.0]], [[0.0, 1.0]]]])  # (1, 2, 1, 2): two orthogonal classes
    labels, sure = torch.tensor([[[0, 1]]]), torch.tensor([[[[0.99, 0.01]], [[0.01, 0.99]]]])
    assert RegionalContrast(num_queries=4, num_keys=8)(features, labels, sure).item() == 0
    loss = RegionalContrast(num_queries=4, num_keys=8, hard_share=0.5)(features, labels, sure)
    assert loss.item() == pytest.approx(-math.log(math.exp(2) / (math.exp(2) + 8)), rel=1e-5)


def test_only_hard_queries_take_a_share() -> None:
    with pytest.raises(UserError, match="no effect with queries='easy'"):
        RegionalContrast(hard_share=0.5, queries="easy")
    with pytest.raises(UserError, match="above 0"):
        RegionalContrast(hard_share=0.0)
