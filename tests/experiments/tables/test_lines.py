"""What the results of a grid say."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoseg.errors import UserError
from recoseg.experiments.plan.grids import GRIDS, Grid, all_of
from recoseg.experiments.tables.lines import Line, baseline_of, mean_of, summarise

CITY = "cityscapes-20"
ROWS = ("supervised", "classmix", "reco-classmix")
GRID = Grid("Three methods", all_of(ROWS, CITY), "full-labels")


def by_row(lines: list[Line]) -> dict[str | None, Line]:
    return {line.row: line for line in lines}


def test_mean_and_seeds_are_those_of_the_results(result_of) -> None:
    scores = [
        result_of("classmix", CITY, seed, percent) for seed, percent in ((2, 30.0), (0, 27.0), (1, 28.5))
    ]
    line = by_row(summarise(GRID, scores))["classmix"]
    assert line.mean == pytest.approx(28.5)
    assert list(line.scores) == [0, 1, 2]
    assert line.missing == ()


def test_lines_come_column_by_column_in_the_order_of_the_grid() -> None:
    lines = [line for line in summarise(GRIDS["full-labels"], []) if line.row]
    assert [line.column for line in lines[:7]] == ["voc-60"] * 6 + ["voc-200"]
    assert [line.row for line in lines[:2]] == ["supervised", "s4gan"]
    assert len(lines) == len(GRIDS["full-labels"].pairs)


def test_a_difference_is_of_the_seeds_that_both_have(result_of) -> None:
    """Seed 0 is easy for both: means alone would say 50 - 30 = +20 of a method that is 1 better."""
    results = [
        result_of("classmix", CITY, 0, 40.0),
        result_of("classmix", CITY, 1, 20.0),
        result_of("reco-classmix", CITY, 0, 41.0),
        result_of("supervised", CITY, 2, 25.0),
    ]
    lines = by_row(summarise(GRID, results))
    assert lines["reco-classmix"].difference == pytest.approx(1.0)
    assert lines["supervised"].difference is None  # no seed in common
    assert lines["classmix"].difference == 0


def test_what_was_not_run_stays_missing(result_of) -> None:
    lines = by_row(summarise(GRID, [result_of("reco-classmix", CITY, 1, 30.0)]))
    assert lines["classmix"].missing == (0, 1, 2)
    assert lines["classmix"].mean is None
    assert not lines["classmix"].best
    assert lines["reco-classmix"].missing == (0, 2)
    assert lines["reco-classmix"].difference is None
    assert not lines["reco-classmix"].best


def test_only_seeds_of_the_grid_count(result_of) -> None:
    results = [result_of("classmix", CITY, seed, 10.0 * seed) for seed in (1, 2, 7)]
    line = by_row(summarise(replace(GRID, seeds=(7, 8)), results))["classmix"]
    assert line.scores == {7: pytest.approx(70.0)}
    assert line.missing == (8,)


def test_results_of_other_columns_and_rows_are_left_out(result_of) -> None:
    results = [result_of("classmix", "voc-60", 0, 90.0), result_of("cutmix", CITY, 0, 95.0)]
    assert all(line.mean is None for line in summarise(GRID, results))


def test_the_best_is_the_highest_mean_of_its_column_and_ties_are_all_best(result_of) -> None:
    grid = Grid("Two columns", all_of(ROWS, CITY, "camvid-20"), None, seeds=(0,))
    results = [
        result_of("supervised", CITY, 0, 31.02),
        result_of("classmix", CITY, 0, 30.98),  # both read 31.0
        result_of("reco-classmix", CITY, 0, 30.9),
        result_of("classmix", "camvid-20", 0, 12.0),  # alone in its column
    ]
    best = [(line.column, line.row) for line in summarise(grid, results) if line.best]
    assert best == [(CITY, "supervised"), (CITY, "classmix")]


def test_a_row_without_all_seeds_is_never_the_best(result_of) -> None:
    results = [result_of("classmix", CITY, seed, 30.0) for seed in range(3)]
    results += [result_of("reco-classmix", CITY, 0, 99.0)]
    assert not any(line.best for line in summarise(GRID, results))
    results += [result_of("supervised", CITY, seed, 29.0) for seed in range(3)]
    assert [line.row for line in summarise(GRID, results) if line.best] == ["classmix"]


def test_a_higher_mean_that_may_be_chance_is_neither_best_nor_apart_from_the_baseline(result_of) -> None:
    scores = {
        "classmix": (30.0, 31.0, 32.0),
        "reco-classmix": (31.0, 31.2, 34.0),
        "supervised": (27, 28.1, 29),
    }
    results = [
        result_of(row, CITY, seed, value)
        for row, values in scores.items()
        for seed, value in enumerate(values)
    ]
    lines = by_row(summarise(GRID, results))
    assert lines["reco-classmix"].mean > lines["classmix"].mean
    assert not any(line.best for line in lines.values())
    assert not lines["reco-classmix"].is_apart  # +1.0, +0.2, +2.0: 1.1 ± 2.2
    assert lines["supervised"].is_apart  # -3.0, -2.9, -3.0


def test_scores_on_other_images_are_not_compared(result_of) -> None:
    """Such as of another size: the same subset, but another task."""
    results = [result_of("classmix", CITY, 0, 30.0), result_of("classmix", "voc-60", 0, 30.0, pixels=5)]
    summarise(GRID, results)
    results += [result_of("supervised", CITY, 0, 29.0, pixels=4 * 10**6)]
    with pytest.raises(UserError, match=f"runs of {CITY} were .* other data .*: 1,000,000 and 4,000,000 pix"):
        summarise(GRID, results)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=4))
def test_a_mean_does_not_depend_on_the_order(values: list[float]) -> None:
    assert len({mean_of(order) for order in permutations(values)}) == 1


@given(st.dictionaries(st.tuples(st.sampled_from(ROWS), st.integers(0, 3)), st.floats(1, 99)))
def test_for_any_results_lines_agree_with_a_plain_reading(result_of, scores) -> None:
    lines = by_row(
        summarise(GRID, [result_of(row, CITY, seed, value) for (row, seed), value in scores.items()])
    )
    for row in ROWS:
        there = [seed for seed in GRID.seeds if (row, seed) in scores]
        assert sorted(there) == list(lines[row].scores)
        assert sorted([*there, *lines[row].missing]) == list(GRID.seeds)
        both = [seed for seed in there if ("classmix", seed) in scores]
        differences = [scores[row, seed] - scores["classmix", seed] for seed in both]
        expected = pytest.approx(sum(differences) / len(both), abs=1e-9) if both else None
        assert lines[row].difference == expected
    whole = [row for row in ROWS if all((row, seed) in scores for seed in GRID.seeds)]
    assert sum(line.best for line in lines.values()) <= (len(whole) > 1)


def test_the_papers_figures_stand_beside_ours_and_are_compared_with_the_same_baseline() -> None:
    lines = by_row(summarise(GRID, []))
    assert (lines["reco-classmix"].paper.mean, lines["reco-classmix"].paper.spread) == (49.86, 0.28)
    assert lines["reco-classmix"].paper.table == "Table 1"
    assert lines["reco-classmix"].paper_difference == pytest.approx(4.25)  # 49.86 - 45.61
    assert lines["supervised"].paper_difference == pytest.approx(-7.49)  # 38.12 - 45.61


def test_a_grid_of_our_own_has_no_figures_of_the_paper() -> None:
    assert all(
        line.paper is None and line.paper_difference is None for line in summarise(GRIDS["camvid-20"], [])
    )


def test_a_column_without_the_baseline_is_compared_with_its_first_row(result_of) -> None:
    grid = GRIDS["full-labels"]
    assert baseline_of(grid, "voc-60") == "classmix"
    assert baseline_of(grid, "voc-all") == "supervised"
    results = [result_of("supervised", "voc-all", 0, 70.0), result_of("reco-supervised", "voc-all", 0, 72.0)]
    line = next(
        line for line in summarise(grid, results) if (line.column, line.row) == ("voc-all", "reco-supervised")
    )
    assert line.difference == pytest.approx(2.0)
    assert line.paper_difference == pytest.approx(0.60)  # 78.39 - 77.79


def test_methods_that_the_paper_quotes_have_its_figures_and_no_seeds() -> None:
    lines = [line for line in summarise(GRIDS["both-deeplabs"], []) if line.title == "CCT, PSPNet"]
    assert [line.paper.mean for line in lines] == [70.45, 75.25]
    assert all(line.row is None and not line.missing and line.mean is None for line in lines)
    assert not [line for line in summarise(GRIDS["cityscapes-20"], []) if line.row is None]


def test_gaps_to_all_labels_are_those_that_the_paper_prints_and_ours(result_of) -> None:
    results = [
        result_of("supervised-v2", "voc-all", 0, 70.0),
        result_of("dmt-v2", "voc-212", 0, 62.5),
        result_of("supervised-v2", "cityscapes-all", 0, 60.0),
    ]
    lines = {
        (line.row or line.title, line.column): line for line in summarise(GRIDS["both-deeplabs"], results)
    }
    assert lines["dmt-v2", "voc-212"].gap == pytest.approx(7.5)
    assert lines["classmix-v2", "voc-212"].gap is None  # not run
    printed = {
        ("advsemseg-v2", "voc-212"): 17.70,
        ("s4gan-v2", "cityscapes-744"): 3.90,
        ("classmix-v2", "cityscapes-1488"): -0.10,
        ("gct-v2", "voc-1323"): 3.49,
        ("dmt-v2", "cityscapes-372"): 5.13,
        ("CCT, PSPNet", "voc-1323"): 4.80,
        ("ECS, DeepLabV3+, images twice as large", "cityscapes-744"): 4.06,
        ("reco-classmix-v2", "voc-100"): 11.20,
        ("reco-classmix", "cityscapes-1488"): -0.15,
    }
    for place, gap in printed.items():
        assert lines[place].paper_gap == pytest.approx(gap, abs=0.005), place
    assert all(line.gap is None for line in summarise(GRIDS["cityscapes-20"], []))


def test_boundary_scores_are_averaged_over_the_seeds_that_have_one(result_of) -> None:
    results = [
        result_of("classmix", CITY, 0, 30.0, boundary_iou=0.10),
        result_of("classmix", CITY, 1, 30.0, boundary_iou=0.20),
        result_of("classmix", CITY, 2, 30.0),
        result_of("supervised", CITY, 0, 30.0),
    ]
    lines = by_row(summarise(GRID, results))
    assert lines["classmix"].boundary_iou == pytest.approx(15.0)
    assert lines["supervised"].boundary_iou is None


def test_scores_of_other_images_are_refused(result_of) -> None:
    with pytest.raises(UserError, match=r"classmix in camvid-20 was scored on val, not on test"):
        summarise(GRIDS["camvid-20"], [result_of("classmix", "camvid-20", 0, 30.0, subset="val")])
