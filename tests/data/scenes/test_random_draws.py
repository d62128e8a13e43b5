"""Random choices, colours and noise of scenes."""

from __future__ import annotations

import numpy as np

from recoseg.data.scenes.random_draws import FINE, SOFT, RandomDraws, texture


def test_draws_stay_within_their_bounds_and_reach_both_ends() -> None:
    draws = RandomDraws(5)
    assert {draws.choice("abc") for _ in range(200)} == {"a", "b", "c"}
    numbers = [draws.between(2.0, 3.0) for _ in range(500)]
    assert 2.0 <= min(numbers) < 2.02
    assert 2.98 < max(numbers) < 3.0
    assert draws.bytes(15).shape == (15,)


def test_bytes_are_the_raw_bits_in_little_endian_order() -> None:
    (word,) = np.random.PCG64(np.random.SeedSequence((9,))).random_raw(1).tolist()
    assert RandomDraws(9).bytes(8).tobytes() == word.to_bytes(8, "little")


def test_draws_from_a_seed_do_not_change_the_next_draws() -> None:
    draws, again = RandomDraws(9), RandomDraws(9)
    other = RandomDraws(draws.seed())
    again.seed()
    assert other.between(0.0, 1.0) != draws.between(0.0, 1.0)
    assert draws.between(0.0, 1.0) == [again.between(0.0, 1.0) for _ in range(2)][1]


def test_noise_repeats_and_stays_in_its_range() -> None:
    place = np.arange(-3, 260, dtype=np.float32)
    for shifts in (SOFT, FINE):
        noise = texture(shifts, place[:, None], place[None, :])
        assert np.array_equal(noise[:7], noise[256:])
        assert float(np.abs(noise).max()) <= 1.2
