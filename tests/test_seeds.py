"""Randomness by place."""

from __future__ import annotations

import torch

from recoseg.seeds import generator_on, permutation, seed_for, torch_generator


def test_the_same_place_gives_the_same_numbers_on_every_machine() -> None:
    assert seed_for(0, "step", 5) == seed_for(0, "step", 5)
    # Pinned: a change here would change every run and split that exists.
    assert permutation(6, 3, "order", 1) == [4, 0, 1, 3, 2, 5]


def test_another_seed_purpose_or_place_gives_other_numbers() -> None:
    places = [(0, "step", 5), (1, "step", 5), (0, "crop", 5), (0, "step", 6), (0, "step", 5, 0)]
    assert len({seed_for(*place) for place in places}) == len(places)


def test_seeds_fit_what_torch_takes() -> None:
    for step in range(200):
        assert 0 <= seed_for(0, "step", step) < 2**63
        torch_generator(0, "step", step)


def test_a_generator_of_a_device_follows_from_the_one_on_the_cpu() -> None:
    first, second = torch_generator(0, "step", 1), torch_generator(0, "step", 1)
    drawn = [torch.rand(3, generator=generator_on(torch.device("cpu"), one)) for one in (first, second)]
    assert torch.equal(*drawn)
    assert not torch.equal(drawn[0], torch.rand(3, generator=generator_on(torch.device("cpu"), first)))
