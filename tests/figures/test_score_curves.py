"""Scores over iterations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from recoseg.figures.curves import LINES
from recoseg.figures.heading import Heading
from recoseg.figures.score_curves import ScoreChart, draw_methods, draw_score_curves, mean_line

TWO_SEEDS = [[(100, 0.1), (200, 0.3)], [(100, 0.2), (200, 0.4), (300, 0.9)]]


def test_the_strong_line_is_the_mean_of_the_seeds_where_all_have_a_score() -> None:
    assert mean_line(TWO_SEEDS) == [(100, pytest.approx(0.15)), (200, pytest.approx(0.35))]
    assert mean_line([]) == []
    assert mean_line([[(1, 0.5)], [(2, 0.5)]]) == []


@given(st.lists(st.lists(st.floats(0, 1), min_size=5, max_size=5), min_size=1, max_size=4))
def test_the_mean_lies_between_the_lowest_and_the_highest_seed(values: list[list[float]]) -> None:
    line = mean_line([list(enumerate(seed)) for seed in values])
    assert [x for x, _ in line] == list(range(5))
    for x, y in line:
        column = [seed[x] for seed in values]
        assert min(column) - 1e-12 <= y <= max(column) + 1e-12


def test_seeds_are_pale_lines_in_the_colour_of_their_method_below_all_means() -> None:
    axes = Figure().add_subplot()
    draw_methods(axes, ScoreChart("a", [TWO_SEEDS, [], [[(100, 0.5)]]]))
    pale, strong = axes.get_lines()[:2], axes.get_lines()[2:]
    assert [line.get_alpha() for line in pale] == [0.3, 0.3]
    assert {line.get_color() for line in pale} == {LINES[0][0]}
    assert [line.get_color() for line in strong] == [LINES[0][0], LINES[2][0]]  # a seed alone is its own mean
    assert [line.get_alpha() for line in strong] == [None, None]
    assert pale[1].get_xydata().tolist() == [list(point) for point in TWO_SEEDS[1]]


def test_a_picture_names_its_methods_and_columns_and_what_it_is_of(tmp_path, texts) -> None:
    charts = [ScoreChart("Cityscapes", [TWO_SEEDS, TWO_SEEDS]), ScoreChart("CamVid", [[], TWO_SEEDS])]
    heading = Heading("Learning (profile tiny)", "pale lines are seeds")
    draw_score_curves(tmp_path / "a.svg", ["ClassMix", "ReCo + ClassMix"], charts, heading=heading)
    said = texts(tmp_path / "a.svg")
    assert {"ClassMix", "ReCo + ClassMix", "Cityscapes", "CamVid"} <= set(said)
    assert {"Learning (profile tiny)", "pale lines are seeds", "iteration", "100", "300"} <= set(said)
    assert any(text.endswith(" %") for text in said)
