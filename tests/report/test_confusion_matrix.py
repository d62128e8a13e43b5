"""What classes are taken for."""

import pytest

from recoseg.report.confusion_matrix import confusion


@pytest.fixture
def read_confusion(read_html):
    return lambda *runs: read_html(confusion(runs))


def test_the_pairs_are_said_in_words(read_confusion, make_run):
    pairs = read_confusion(make_run()).one("div", "pairs")
    assert [item.text for item in pairs.all("li")] == ["40.0% of road is called sky"]


def test_a_perfect_network_confuses_nothing(read_confusion, make_run, scores_line):
    root = read_confusion(make_run(metrics=[scores_line(1, [[1, 0, 0], [0, 1, 0], [0, 0, 1]])]))
    assert root.all("p", "note")[-1].text == "No class has 1.0% of its pixels called another."


def test_each_run_that_was_evaluated_has_a_heat_map(read_confusion, make_run):
    root = read_confusion(make_run(name="a"), make_run(name="b", metrics=[]), make_run(name="c"))
    assert [heading.text for heading in root.all("h3")] == ["a", "c"]
    assert len(root.all("div", "cells")) == 2


def test_no_evaluation_is_said(read_confusion, make_run):
    assert read_confusion(make_run(metrics=[])).text == "No run has been evaluated yet."
