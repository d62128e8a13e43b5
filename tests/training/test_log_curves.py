"""Curves from logs, by a person's arithmetic."""

from __future__ import annotations

from recoseg.training.log_curves import curve, loss_parts, stats, thinned


def test_thinning_keeps_short_lines_and_averages_neighbours_of_long_ones() -> None:
    points = [(float(x), float(x % 2)) for x in range(1, 9)]
    assert thinned(points, most=8) == points
    assert thinned(points, most=4) == [(2, 0.5), (4, 0.5), (6, 0.5), (8, 0.5)]
    assert len(thinned([(float(x), 0.0) for x in range(1, 100_001)])) <= 120


def test_a_curve_leaves_out_what_is_not_there_or_no_number() -> None:
    log = [{"iteration": 1, "loss": 2}, {"iteration": 2, "loss": None}, {"iteration": 3}]
    log += [{"iteration": 4, "loss": float("nan")}, {"iteration": 5, "loss": 0.5}]
    assert curve(log, "loss") == [(1, 2), (5, 0.5)]


def test_parts_of_the_loss_are_named_once_and_a_sole_one_is_the_loss() -> None:
    first = [{"iteration": 1, "lr": 0.1, "loss": 1.0, "supervised": 1.0, "seconds": 3.0}]
    second = [{"iteration": 1, "loss": 2.0, "consistency": 1.0, "supervised": 1.0, "stats": {"a": 1}}]
    assert loss_parts([first, second]) == ["supervised", "consistency"]
    assert loss_parts([first, first]) == []


def test_stats_have_their_iteration() -> None:
    log = [{"iteration": 1, "stats": None}, {"iteration": 2}, {"iteration": 3, "stats": {"a": 0.5}}]
    assert stats(log) == [{"iteration": 3, "a": 0.5}]
