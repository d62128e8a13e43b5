"""Draws of queries and keys: each pixel as often as it should be, and never one that must not."""

from __future__ import annotations

import pytest
import torch

from recoseg.losses.regional_contrast.choosing import (
    KeySampler,
    Regions,
    choose_queries,
    group_by_class,
    negative_distribution,
    sorted_uniforms,
)

LABELS = torch.tensor([[[0, 2, 2, 1], [1, 2, 3, 3], [2, 2, 2, 2]]])  # 1, 2, 7 and 2 pixels; 3 takes no part
PROBABILITY = torch.tensor([[0.0, 0.9, 0.1], [0.25, 0.0, 0.75], [0.5, 0.5, 0.0]], dtype=torch.double)


def regions(candidates: torch.Tensor | None = None, seed: int = 0) -> Regions:
    candidates = torch.ones_like(LABELS, dtype=torch.bool) if candidates is None else candidates
    return group_by_class(LABELS, candidates, 3, torch.Generator().manual_seed(seed))


def sampler(seed: int = 0) -> KeySampler:
    generator = torch.Generator().manual_seed(seed)
    return KeySampler.of(PROBABILITY, regions(), torch.arange(3), generator)


def test_pixels_are_grouped_by_class_with_candidates_first() -> None:
    candidates = torch.tensor([[[1, 0, 1, 0], [1, 0, 1, 1], [0, 1, 0, 0]]], dtype=torch.bool)
    found = regions(candidates)
    assert found.starts.tolist() == [0, 1, 3]
    assert found.counts.tolist() == [1, 2, 7]
    assert found.candidates.tolist() == [1, 1, 2]
    assert [set(part.tolist()) for part in found.order.split((1, 1, 1, 2, 5, 2))] == [
        {0}, {4}, {3}, {2, 9}, {1, 5, 8, 10, 11}, {6, 7},
    ]  # fmt: skip


def test_every_key_is_drawn_as_often_as_its_class_and_pixel_demand() -> None:
    drawn = sampler().draw(slice(None), 1000, 512)  # (3, 1000, 512)
    counts = torch.tensor([1, 2, 7])
    flat = LABELS.flatten()
    for query_class in range(3):
        frequency = drawn[query_class].flatten().bincount(minlength=12) / drawn[query_class].numel()
        expected = torch.zeros(12)
        taking_part = flat < 3
        labels = flat[taking_part]
        expected[taking_part] = (PROBABILITY[query_class, labels] / counts[labels]).float()
        assert (frequency[expected == 0] == 0).all()
        error = (expected * (1 - expected) / drawn[query_class].numel()).sqrt()
        assert ((frequency - expected).abs() <= 4 * error).all()


def test_keys_of_a_query_are_independent() -> None:
    """How many of the 512 fall into a class varies as a binomial number does: no less, no more."""
    drawn = LABELS.flatten()[sampler(1).draw(slice(1, 2), 20_000, 512)[0]]  # (20000, 512)
    hits = (drawn == 0).sum(1).double()
    assert hits.mean() == pytest.approx(512 * 0.25, rel=0.002)
    assert hits.var() == pytest.approx(512 * 0.25 * 0.75, rel=0.04)


def test_queries_draw_different_keys() -> None:
    first, second = sampler().draw(slice(2, 3), 2, 64)[0]
    assert first.tolist() != second.tolist()


def test_sorted_uniforms_are_sorted_and_uniform() -> None:
    numbers = sorted_uniforms((50_000, 3), torch.device("cpu"), torch.Generator().manual_seed(0))
    assert (numbers.diff(dim=1) >= 0).all()
    assert 0 <= numbers.min() < numbers.max() < 1
    # the k-th of n has mean k / (n + 1) and variance k (n + 1 - k) / (n + 1)^2 / (n + 2)
    torch.testing.assert_close(numbers.mean(0), torch.tensor([0.25, 0.5, 0.75]), atol=0.004, rtol=0)
    variance = torch.tensor([3.0, 4.0, 3.0]) / 16 / 5
    torch.testing.assert_close(numbers.var(0), variance, atol=0, rtol=0.03)


def test_a_class_is_never_its_own_negative() -> None:
    own = torch.eye(3, dtype=torch.bool)
    distribution = negative_distribution(torch.tensor([[9.0, 0, 1], [0, 9, 0], [0, 0, 9]]), own)
    assert (distribution[own] == 0).all()
    e = torch.e
    torch.testing.assert_close(distribution[0], torch.tensor([0, 1 / (1 + e), e / (1 + e)]))


def test_queries_are_all_different_while_a_class_has_enough() -> None:
    pixels = choose_queries(regions(), torch.arange(3), 7)
    assert len(set(pixels[2].tolist())) == 7
    assert sorted(pixels[1].tolist()) == [3, 3, 3, 3, 4, 4, 4] or sorted(pixels[1].tolist()) == [
        3,
        3,
        3,
        4,
        4,
        4,
        4,
    ]
    assert pixels[0].tolist() == [0] * 7


def test_every_candidate_is_equally_likely_to_be_a_query() -> None:
    seen = torch.zeros(12)
    for seed in range(2000):
        seen[choose_queries(regions(seed=seed), torch.tensor([2]), 3)] += 1
    expected = 2000 * 3 / 7
    assert (seen[LABELS.flatten() == 2] - expected).abs().max() < 4 * (expected * 4 / 7) ** 0.5
