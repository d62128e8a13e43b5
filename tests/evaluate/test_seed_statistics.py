"""Statistics over seeds, against values by hand, closed forms and scipy's own tests."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from recoseg.evaluate.seed_statistics import (
    MOST_EXACT,
    NUM_FLIPS,
    holm,
    is_ahead,
    mean_interval,
    paired_difference,
    pairs_needed,
    score_interval,
    sign_flip_p_value,
)

# Whole 64ths: sums and shifts of them are exact.
ARM = st.integers(0, 6400).map(lambda number: number / 64)
ARMS = st.lists(st.tuples(ARM, ARM), min_size=2, max_size=8)


def test_paired_t_of_numbers_that_a_person_can_check() -> None:
    """Differences 1, 2, 3: mean 2, SD 1, t = 2 * sqrt(3) with 2 degrees of freedom, whose tail is closed."""
    found = paired_difference([10.0, 20.0, 30.0], [11.0, 22.0, 33.0])
    assert (found.mean, found.spread) == (2.0, 1.0)
    t = 2 * sqrt(3)
    assert found.p_value == pytest.approx(1 - t / sqrt(2 + t * t))
    assert found.interval == pytest.approx((2 - 4.302653 / sqrt(3), 2 + 4.302653 / sqrt(3)), abs=1e-6)
    assert found.flip_p_value == 2 / 2**3


def test_two_pairs_have_the_tail_of_a_cauchy_distribution() -> None:
    found = paired_difference([0.0, 0.0], [1.0, 3.0])  # t = 2 / (sqrt(2) / sqrt(2)) = 2
    assert found.p_value == pytest.approx(1 - 2 * np.arctan(2) / np.pi)


def test_one_pair_has_neither_interval_nor_comparison() -> None:
    assert mean_interval([1.0]) is None
    assert not is_ahead([2.0], [[1.0]])
    with pytest.raises(ValueError, match="two pairs"):
        paired_difference([1.0], [2.0])


@pytest.mark.parametrize("number", range(2, 13))
def test_differences_of_one_sign_have_the_smallest_p_value_that_flips_can_give(number) -> None:
    differences = [0.1 * place for place in range(1, number + 1)]
    assert sign_flip_p_value(differences) == 2 / 2**number
    assert sign_flip_p_value([-one for one in differences]) == 2 / 2**number


def test_flips_of_equal_differences_count_ties() -> None:
    """1, 1, -1 sum to 1: all flips of three ones are at least that far from 0."""
    assert sign_flip_p_value([1.0, 1.0, -1.0]) == 1.0
    # 0.1 + 0.2 is not 0.3 in floating point: still ties
    assert sign_flip_p_value([0.1, 0.2, -0.3]) == 1.0


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=9))
def test_exact_flips_agree_with_scipys_permutation_test(differences) -> None:
    expected = stats.permutation_test(
        (np.array(differences, dtype=float),), np.sum, permutation_type="samples", n_resamples=np.inf
    )
    assert sign_flip_p_value(differences) == pytest.approx(expected.pvalue)


def test_many_pairs_are_flipped_at_random_and_always_alike() -> None:
    generator = np.random.default_rng(0)
    differences = generator.normal(0.4, 1, MOST_EXACT + 9)
    sampled = sign_flip_p_value(differences)
    assert sampled == sign_flip_p_value(differences)
    assert sampled == pytest.approx(stats.ttest_1samp(differences, 0).pvalue, abs=0.02)
    assert sign_flip_p_value([1.0 + place / 100 for place in range(40)]) == 1 / (NUM_FLIPS + 1)


@given(ARMS)
def test_paired_t_agrees_with_scipy(pairs) -> None:
    first, second = map(list, zip(*pairs, strict=True))
    assume(np.std(np.subtract(second, first)) > 0)
    found, expected = paired_difference(first, second), stats.ttest_rel(second, first)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-6, abs=1e-12)
    assert found.interval == pytest.approx(tuple(expected.confidence_interval()), rel=1e-6, abs=1e-9)


@given(ARMS)
def test_swapping_the_arms_turns_signs_alone(pairs) -> None:
    first, second = map(list, zip(*pairs, strict=True))
    one, other = paired_difference(first, second), paired_difference(second, first)
    assert one.mean == -other.mean
    assert one.interval == pytest.approx((-other.interval.high, -other.interval.low))
    assert (one.spread, one.p_value, one.flip_p_value) == (other.spread, other.p_value, other.flip_p_value)


@given(ARMS, st.lists(ARM, min_size=8, max_size=8))
def test_what_makes_a_seed_easier_for_both_arms_changes_nothing(pairs, shifts) -> None:
    first, second = map(list, zip(*pairs, strict=True))
    shifted = [[score + shift for score, shift in zip(arm, shifts, strict=False)] for arm in (first, second)]
    assert paired_difference(*shifted) == paired_difference(first, second)


def test_equal_differences_are_certain_and_equal_arms_are_none() -> None:
    assert paired_difference([1.0, 2.0, 3.0], [2.0, 3.0, 4.0]).p_value == 0.0
    same = paired_difference([1.0, 2.0], [1.0, 2.0])
    assert (same.mean, same.spread, same.p_value, same.flip_p_value) == (0.0, 0.0, 1.0, 1.0)


def test_holms_correction_by_hand() -> None:
    """Sorted .005, .01, .03, .04 times 4, 3, 2, 1: .02, .03, .06, .04, which may not fall: .06."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.4, 0.6]) == pytest.approx([0.8, 0.8])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([0.03]) == [0.03]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_is_between_no_correction_and_bonferronis_and_keeps_the_order(p_values) -> None:
    corrected = holm(p_values)
    for p_value, more in zip(p_values, corrected, strict=True):
        assert p_value <= more <= min(1.0, len(p_values) * p_value)
    order = np.argsort(p_values, kind="stable")
    assert list(np.array(corrected)[order]) == sorted(corrected)


def power(number: int, effect: float) -> float:
    """By scipy's noncentral t."""
    critical = stats.t.ppf(0.975, number - 1)
    shifted = stats.nct(number - 1, effect * sqrt(number))
    return float(shifted.sf(critical) + shifted.cdf(-critical))


@pytest.mark.parametrize("effect", [0.05, 0.2, 0.5, 0.8, 1.0, 1.5, 3.0])
def test_the_number_of_pairs_is_the_first_with_a_power_of_80_percent(effect) -> None:
    number = pairs_needed(spread=2.0, size=2.0 * effect)
    assert power(number, effect) >= 0.8
    assert power(number - 1, effect) < 0.8


def test_pairs_needed_as_in_tables_of_sample_sizes() -> None:
    """Cohen's d of 0.5 takes 34 pairs, of 0.8 15, of 1 10."""
    assert [pairs_needed(1.0, size) for size in (0.5, 0.8, 1.0)] == [34, 15, 10]
    assert pairs_needed(0.0, 1.0) == pairs_needed(0.001, 100.0) == 2
    assert pairs_needed(50.0, 0.01) == pytest.approx((1.959964 + 0.841621) ** 2 * 5000**2, rel=1e-4)


def test_a_lead_needs_intervals_above_zero_over_all_others() -> None:
    low, lucky, high = [50.0, 51.0, 52.0], [49.0, 51.0, 57.0], [53.0, 54.1, 54.9]
    assert is_ahead(high, [low])
    assert not is_ahead(lucky, [low])  # a higher mean, by one seed
    assert not is_ahead(high, [low, lucky])
    assert not is_ahead(low, [high])


def test_intervals_of_scores_end_where_scores_do() -> None:
    assert score_interval([0.1, 0.9]) == (0.0, 1.0)
    assert score_interval([10.0, 90.0], highest=100.0) == (0.0, 100.0)
    assert score_interval([0.5]) is None
