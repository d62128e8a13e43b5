"""The curves of the page that tell whether the contrast works."""

import pytest

from recoseg.report.curves import curves


@pytest.fixture
def read_curves(read_html):
    return lambda *runs: read_html(curves(runs))


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
