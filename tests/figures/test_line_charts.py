"""Charts of scores and losses over iterations."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from recoseg.figures.line_charts import Chart, draw_chart, draw_charts, mean_line
from recoseg.figures.sheet import LINES


def test_every_chart_has_its_title_and_every_run_its_name(tmp_path, texts) -> None:
    charts = [
        Chart("Mean IoU", [[[(10, 0.1), (20, 0.3)]], [[(10, 0.2)]]], percent=True),
        Chart("Loss", [[[(5, 2.0), (20, 1.0)]], []]),
    ]
    draw_charts(tmp_path / "a.svg", ["one", "two"], charts)
    said = texts(tmp_path / "a.svg")
    assert {"Mean IoU", "Loss", "one", "two", "0 %", "iteration"} <= set(said)
    draw_charts(tmp_path / "b.svg", ["one"], [Chart("Loss", [[[(5, 2.0)]]])])
    assert "one" not in texts(tmp_path / "b.svg")  # alone it needs no legend


def test_lines_of_a_run_have_one_colour_and_one_kind_of_dashes_of_their_own(tmp_path) -> None:
    figure = Figure()
    axes = figure.add_subplot()
    draw_chart(axes, Chart("Loss", [[[(1, 1.0), (2, 2.0)]], [], [[(1, 3.0)]]]), from_zero=True)
    first, third = axes.get_lines()
    assert (first.get_color(), third.get_color()) == (LINES[0][0], LINES[2][0])
    assert (first.get_xydata().tolist(), third.get_xydata().tolist()) == ([[1, 1], [2, 2]], [[1, 3]])
    assert len({colour for colour, _ in LINES}) == len({str(dashes) for _, dashes in LINES}) == len(LINES)


@pytest.mark.parametrize(("values", "bottom"), [([1.0, 3.0], 0), ([0.0, 0.0], 0), ([-1.0, 3.0], None)])
def test_heights_compare_from_zero_unless_a_value_is_below(values, bottom) -> None:
    axes = Figure().add_subplot()
    draw_chart(axes, Chart("Loss", [[list(enumerate(values))]]), from_zero=True)
    lowest, highest = axes.get_ylim()
    assert lowest == bottom if bottom is not None else lowest < -1
    assert highest >= max(values)


def test_ten_runs_and_seven_charts_fit(tmp_path) -> None:
    charts = [Chart(f"part {k}", [[[(1, k), (1000, 2.0)]] for _ in range(10)]) for k in range(7)]
    draw_charts(tmp_path / "a.svg", [f"run {k}" for k in range(10)], charts)
    text = (tmp_path / "a.svg").read_text()
    assert len(re.findall(r">part \d<", text)) == 7


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
    draw_chart(axes, Chart("a", [TWO_SEEDS, [], [[(100, 0.5)]]]), from_zero=False)
    pale, strong = axes.get_lines()[:2], axes.get_lines()[2:]
    assert [line.get_alpha() for line in pale] == [0.3, 0.3]
    assert {line.get_color() for line in pale} == {LINES[0][0]}
    assert [line.get_color() for line in strong] == [LINES[0][0], LINES[2][0]]  # a seed alone is its own mean
    assert [line.get_alpha() for line in strong] == [None, None]
    assert pale[1].get_xydata().tolist() == [list(point) for point in TWO_SEEDS[1]]


def test_a_picture_names_its_methods_and_columns_and_what_it_is_of(tmp_path, texts) -> None:
    charts = [Chart("Cityscapes", [TWO_SEEDS, TWO_SEEDS], percent=True), Chart("CamVid", [[], TWO_SEEDS])]
    what = {"title": "Learning (profile tiny)", "about": "pale lines are seeds"}
    draw_charts(tmp_path / "a.svg", ["ClassMix", "ReCo + ClassMix"], charts, **what)
    said = texts(tmp_path / "a.svg")
    assert {"ClassMix", "ReCo + ClassMix", "Cityscapes", "CamVid"} <= set(said)
    assert {"Learning (profile tiny)", "pale lines are seeds", "iteration", "0", "300"} <= set(said)
    assert any(text.endswith(" %") for text in said)
