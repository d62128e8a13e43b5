"""The overview of several runs."""

from dataclasses import replace

import pytest

from recoseg.report.overview import overview
from recoseg.report.standing import standing


def scored(make_run, scores_line, name, right):
    """A run with `right` of 1,000 pixels of each of two classes; both IoUs are right / (2000 - right)."""
    wrong = 1000 - right
    confusion = [[right, wrong, 0], [wrong, right, 0], [0, 0, 0]]
    return make_run(name=name, survey=None, metrics=[scores_line(10, confusion)])


def test_the_sentence_tells_how_far_the_others_are_behind(make_run, scores_line):
    runs = [
        scored(make_run, scores_line, name, right) for name, right in (("a", 500), ("b", 800), ("c", 600))
    ]
    # 500/1500, 800/1200, 600/1400
    assert standing(runs) == "b has the highest mean IoU, 66.7%: 23.8 points above c and 33.3 above a."


def test_the_sentence_says_that_a_small_lead_may_be_chance(make_run, scores_line):
    runs = [
        scored(make_run, scores_line, name, right) for name, right in (("a", 600), ("b", 604), ("c", 500))
    ]
    told = standing(runs)  # 600/1400 = 0.4286, 604/1396 = 0.4327
    assert told.startswith("b has the highest mean IoU, 43.3%: 0.4 points above a and 9.9 above c. ")
    assert told.endswith("Less than a point ahead of a may be chance: another seed may turn it round.")


def test_without_scores_the_sentence_says_so(make_run):
    assert standing([make_run(survey=None, metrics=[])] * 2) == "No run has been evaluated yet."


def test_the_pictures_are_those_in_which_the_runs_differ_most(read_html, make_run, make_picture):
    wrong = [make_picture(key) for key in "pqrs"]  # in the upper half
    right = [replace(one, prediction=one.truth) for one in wrong]
    ours = [right[0], wrong[1], right[2], wrong[3]]  # differs from wrong in p and r
    runs = [make_run(name="first", pictures=wrong), make_run(name="second", pictures=ours)]
    root = read_html(overview(runs))
    strips = root.all("div", "strip")
    assert [strip.all("img")[0].attributes["alt"] for strip in strips] == ["Image p", "Image r"]
    assert [figure.one("figcaption").text for figure in strips[0].all("figure")] == [
        "Image", "Truth", "first50.0% right", "second100.0% right",
    ]  # fmt: skip
    assert root.one("p", "muted").text == "The 2 of the 4 pictures below in which these runs differ most."


@pytest.mark.parametrize("without", [0, 1])
def test_there_are_no_pictures_where_only_one_run_has_some(read_html, make_run, make_picture, without):
    runs = [make_run(pictures=[] if number == without else [make_picture()]) for number in range(2)]
    assert read_html(overview(runs)).all("img") == []
