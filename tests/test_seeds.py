"""Randomness by place."""

from __future__ import annotations

from recoseg.seeds import permutation, seed_for, torch_generator


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
