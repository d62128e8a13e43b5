import re

import pytest

from recoseg.report.chart import Frame, Line, line_chart, round_step, thinned
from recoseg.report.numbers import plain


@pytest.mark.parametrize(
    ("span", "step"), [(5, 1), (5.1, 2), (11, 5), (0.6, 0.2), (0.04, 0.01), (0, 1), (80000, 20000)]
)
def test_ticks_are_ones_twos_and_fives(span, step):
    assert round_step(span, most=5) == pytest.approx(step)


def test_the_frame_starts_at_zero_and_ends_at_a_round_number():
    frame = Frame.around([(10, 0.3), (95, 0.55)], until=100)
    assert frame.up_ticks == pytest.approx([0, 0.2, 0.4, 0.6])
    assert frame.across_ticks == [0, 20, 40, 60, 80, 100]
    assert (frame.x(50), frame.y(0), frame.y(0.6), frame.y(0.15)) == (50, 100, 0, 75)


def test_values_below_zero_stay_inside_the_frame():
    frame = Frame.around([(1, -0.5), (2, 0.5)], until=0)
    assert frame.y(-0.5) <= 100
    assert 0 in frame.up_ticks


def test_a_flat_line_at_zero_can_be_drawn():
    frame = Frame.around([(0, 0.0)], until=0)
    assert (frame.x(0), frame.y(0)) == (0, 100)


def test_thinning_keeps_short_lines_and_averages_neighbours_of_long_ones():
    points = [(float(x), float(x % 2)) for x in range(1, 9)]
    assert thinned(points, most=8) == points
    assert thinned(points, most=4) == [(2, 0.5), (4, 0.5), (6, 0.5), (8, 0.5)]
    assert len(thinned([(float(x), 0.0) for x in range(1, 100_001)])) <= 120


def test_a_path_goes_through_the_points(read_html):
    chart = read_html(line_chart([Line("a", 0, [(0, 0), (50, 1), (100, 2)])], heading="Loss", show=plain))
    assert chart.one("path").attributes["d"] == "M0.0 100.0L50.0 50.0L100.0 0.0"


def test_every_run_is_a_path_in_its_colour(read_html):
    lines = [Line("a", 0, [(1, 1)]), Line("none", 1, []), Line("c", 2, [(1, 2), (2, 1)])]
    chart = read_html(line_chart(lines, heading="Loss", show=plain))
    assert [path.attributes["class"] for path in chart.all("path")] == ["run-1", "run-3"]


def test_pointing_at_an_iteration_tells_the_values_of_all_runs_there(read_html):
    lines = [Line("<a>", 0, [(100, 0.5), (1200, 0.25)]), Line("b", 1, [(1200, 2)])]
    chart = read_html(line_chart(lines, heading="Loss", show=plain))
    assert [title.text for title in chart.all("title")] == [
        "iteration 100\n<a>: 0.5",
        "iteration 1,200\n<a>: 0.25\nb: 2",
    ]


def test_the_strips_one_points_at_cover_the_plot_without_overlap(read_html):
    chart = read_html(line_chart([Line("a", 0, [(10, 1), (30, 1), (100, 1)])], heading="Loss", show=plain))
    spans = [
        (float(rect.attributes["x"].rstrip("%")), float(rect.attributes["width"].rstrip("%")))
        for rect in chart.all("rect")
    ]
    assert spans == [(0, 20), (20, 45), (65, 35)]


def test_a_single_point_is_a_dot_with_a_title(read_html):
    chart = read_html(line_chart([Line("a", 0, [(100, 0.5)])], heading="Mean IoU", show=plain, until=200))
    assert chart.one("circle").attributes["cx"] == "50.0%"
    assert len(chart.all("title")) == 1


def test_a_screen_reader_hears_the_last_values():
    chart = line_chart([Line("a", 0, [(1, 3), (2, 0.5)])], heading="Loss", show=plain)
    assert 'aria-label="Loss by iteration; last: a 0.5"' in chart


def test_colours_come_from_the_style_sheet_alone():
    chart = line_chart([Line("a", 0, [(1, 3), (2, 0.5)])], heading="Loss", show=plain)
    assert not re.search(r"#[0-9a-f]{3}|rgb|stroke=|fill=", chart)


def test_nothing_to_draw_is_said(read_html):
    chart = read_html(line_chart([Line("a", 0, [])], heading="Loss", show=plain))
    assert "Nothing recorded yet." in chart.text
    assert not chart.all("svg")
