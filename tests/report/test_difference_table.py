"""Where runs disagree, and which is right."""

from dataclasses import replace

import pytest
import torch

from recoseg.report.difference_table import difference_table, gain_bar, pixel_counts
from recoseg.report.run_view import Picture
from recoseg.types import IGNORE


@pytest.fixture
def read_differences(read_html):
    return lambda *runs: read_html(difference_table(runs))


def map_of(*labels):
    return torch.tensor([labels], dtype=torch.uint8)


@pytest.fixture
def two_runs(make_run, scores_line):
    """Ten pixels of road, of which the first run has 6 right and the second 8; both have 5 in common."""
    truth = map_of(*[0] * 10, IGNORE)
    first = map_of(*[0] * 6, *[1] * 4, 1)
    second = map_of(*[0] * 5, 1, *[0] * 3, 2, 0)
    image = torch.zeros(3, 1, 11, dtype=torch.uint8)
    pictures = [Picture("a", image, truth, predicted, truth) for predicted in (first, second)]
    better = [scores_line(1, [[80, 20, 0], [0, 40, 0], [0, 0, 0]])]
    return (
        make_run(name="one", pictures=pictures[:1]),
        make_run(name="two", pictures=pictures[1:], metrics=better),
    )


def test_pixels_are_counted_by_their_true_class(two_runs):
    # 5 agreed, 3 only the second right, 1 only the first right, 1 both wrong
    assert pixel_counts(*two_runs).tolist() == [[5, 3, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]]


def test_the_disagreement_is_said_in_words(read_differences, two_runs):
    words = read_differences(*two_runs).all("p", "about")[2].text
    assert words == (
        "They call 50.0% of the pixels in 1 picture differently. "
        "There two is right on 60.0%, one on 20.0%, neither on 20.0%."
    )


def test_each_class_has_its_gains_and_a_dash_where_there_is_nothing(read_differences, two_runs):
    rows = read_differences(*two_runs).one("table", "differences").one("tbody").all("tr")
    # road: 80/100 - 60/100; sky: 40/60 - 40/80
    assert [[cell.text for cell in row.children] for row in rows] == [
        ["road", "+20.0", "±0.0", "30.0", "10.0"],
        ["sky", "+16.7", "±0.0", "–", "–"],
        ["kangaroo", "–", "–", "–", "–"],
    ]
    assert float(rows[0].attributes["data-iou"]) == pytest.approx(0.2)
    assert "data-iou" not in rows[2].attributes


def test_bars_go_from_the_middle_and_the_largest_to_the_end(read_html):
    lengths = [
        read_html(gain_bar(gain, 0.2)).one("span", "track").children[0].attributes for gain in (0.2, -0.1)
    ]
    assert lengths[0] == {"style": "left:50%;width:50.00%", "class": "gain"}
    assert lengths[1] == {"style": "right:50%;width:25.00%", "class": "loss"}


def test_equal_runs_agree(read_differences, two_runs):
    root = read_differences(two_runs[0], replace(two_runs[0], name="twin"))
    assert "They agree on all pixels in the pictures." in root.text


def test_runs_without_common_pictures_say_so(read_differences, two_runs, make_run):
    root = read_differences(two_runs[0], make_run(name="bare"))
    assert "They share no pictures with labels." in root.text


def test_every_other_run_is_compared_with_the_first(read_differences, two_runs, make_run):
    root = read_differences(*two_runs, make_run(name="three", metrics=[]))
    assert [heading.text for heading in root.all("h3")] == ["two against one", "three against one"]
