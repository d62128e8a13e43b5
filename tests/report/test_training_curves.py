"""Charts of training: frames, lines, what one points at, and which charts there are."""

from __future__ import annotations

import re

import pytest

from recoseg.report.training_curves import Frame, Line, line_chart, round_step, training
from recoseg.text import plain


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


@pytest.fixture
def read_curves(read_html):
    return lambda *runs: read_html(training(runs))


def line(iteration, **stats):
    parts = {"loss": 7.0, "supervised": 1.0, "contrast": 6.0}
    return {"iteration": iteration, "lr": 0.1, **parts, **({"stats": stats} if stats else {})}


def headings(root):
    return [heading.text for heading in root.all("h3")]


def test_the_loss_of_the_contrast_is_drawn_against_its_chance_level(read_curves, make_run):
    losses = [line(1, contrast_chance_level=8.0), line(2, contrast_chance_level=8.0)]
    root = read_curves(make_run(losses=losses))
    chart = root.all("figure")[headings(root).index("Loss: contrast")]
    assert chart.one("line", "mark").attributes["y1"] == "0.0%"  # 8 is the top of a chart from 0 to 8
    assert chart.one("text", "mark-name").text == "chance level"
    assert len(root.all("line", "mark")) == 1


def test_runs_with_other_numbers_of_keys_have_a_chance_level_each(read_curves, make_run):
    runs = [make_run(losses=[line(1, contrast_chance_level=level)]) for level in (6.24, 4.85)]
    names = [name.text for name in read_curves(*runs).all("text", "mark-name")]
    assert names == ["chance level 4.85", "chance level 6.24"]


def test_accuracy_and_hard_pixels_are_shares(read_curves, make_run):
    stats = {"contrast_accuracy": 0.5, "contrast_hard_share": 0.25, "contrast_active_classes": 3.0}
    root = read_curves(make_run(losses=[line(1, **stats)]))
    assert headings(root)[-2:] == ["Contrast accuracy", "Hard pixels"]
    assert [figure.one("title").text for figure in root.all("figure")[-2:]] == [
        "iteration 1\nplain: 50%",
        "iteration 1\nplain: 25%",
    ]


def test_an_idle_contrast_has_no_accuracy_to_draw(read_curves, make_run):
    root = read_curves(make_run(losses=[line(1, contrast_accuracy=None, contrast_hard_share=0.0)]))
    assert "Contrast accuracy" not in headings(root)
    assert "Hard pixels" in headings(root)


def test_without_a_contrast_there_is_no_chart_of_it(read_curves, make_run):
    assert headings(read_curves(make_run())) == ["Mean IoU", "Loss"]
