"""The relation graph of the page and its tree."""

import json
import re

import pytest
import torch

from recoseg.evaluate.class_relations import Relations
from recoseg.evaluate.scores import Scores
from recoseg.evaluate.survey import Survey
from recoseg.report.relation_graphs import cosine, dendrogram, relation_graphs
from recoseg.types import ClassInfo

FOUR = ClassInfo(("a", "b", "c", "d"), ((1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 4, 4)))


@pytest.fixture
def read_relations(read_html):
    return lambda *runs: read_html(relation_graphs(runs))


@pytest.fixture
def two_pairs() -> Relations:
    """a is like c (0.9), b like d (0.8), and the pairs have nothing in common."""
    graph = torch.eye(4, dtype=torch.float64)
    graph[0, 2] = graph[2, 0] = 0.9
    graph[1, 3] = graph[3, 1] = 0.8
    return Relations(graph, torch.ones(4, dtype=torch.int64))


def test_like_classes_stand_side_by_side(read_relations, make_run, scores_line, two_pairs):
    survey = Survey(Scores(torch.eye(4).long()), {"Z": two_pairs}, 1)
    root = read_relations(make_run(classes=FOUR, survey=survey))
    names = "".join(span.text for span in root.one("div", "rows").all("span"))
    assert {names[:2], names[2:]} in ({"ac", "bd"}, {"ca", "bd"}, {"ac", "db"}, {"ca", "db"})
    values = json.loads(root.one("div", "cells").attributes["data-values"])
    first, second = (90, 80) if "a" in names[:2] else (80, 90)
    assert values == [100, first, 0, 0, first, 100, 0, 0, 0, 0, 100, second, 0, 0, second, 100]


def test_branches_join_where_classes_are_as_unlike(read_html, two_pairs):
    tree = two_pairs.tree()
    assert tree is not None
    svg = read_html(dendrogram(tree, FOUR.names)).one("svg")
    assert svg.attributes["viewbox"] == "0 0 100 4"
    places = [re.findall(r"[\d.]+", path.attributes["d"]) for path in svg.all("path")]
    # distances 0.1, 0.2 and 1, in per cent of the largest, within 98: the leaves at 0
    assert [float(place[2]) for place in places] == [9.8, 19.6, 98]
    assert [float(place[0]) for place in places[:2]] == [0, 0]
    titles = [title.text for title in svg.all("title")]
    assert {titles[0], titles[1]} & {"a, c: 0.90 on average", "c, a: 0.90 on average"}
    assert titles[2].endswith(": 0.00 on average")


def test_rows_and_leaves_are_in_line(read_html, two_pairs):
    tree = two_pairs.tree()
    assert tree is not None
    svg = read_html(dendrogram(tree, FOUR.names))
    numbers = [re.findall(r"[\d.]+", path.attributes["d"]) for path in svg.all("path")[:2]]
    ends = sorted(float(numbers[path][place]) for path in (0, 1) for place in (1, 3))  # M x y H x V y H x
    assert ends == [0.5, 1.5, 2.5, 3.5]  # the middles of four rows


def test_the_mean_similarity_and_the_closest_pairs_are_told(read_relations, make_run):
    root = read_relations(make_run())
    assert [mean.text for mean in root.all("p", "mean")] == ["Mean similarity 0.80", "Mean similarity −0.25"]
    assert [note.text for note in root.all("p", "note")] == [
        "Most alike: road and sky 0.80.",
        "Without pixels, left out: kangaroo.",
        "Most alike: road and sky −0.25.",
        "Without pixels, left out: kangaroo.",
    ]


def test_runs_stand_side_by_side_in_each_space_that_they_have(read_relations, make_run, make_survey):
    both = make_run(name="reco")
    assert both.survey is not None
    only_z = Survey(both.survey.scores, {"Z": both.survey.relations["Z"]}, 1)
    root = read_relations(
        make_run(name="supervised", survey=only_z), both, make_run(name="begun", metrics=[])
    )
    assert [heading.text[0] for heading in root.all("h3")] == ["Z", "R"]
    assert [heading.text for heading in root.all("h4")] == ["supervised", "reco", "reco"]


def test_one_class_alone_has_nothing_to_be_compared_with(read_relations, make_run):
    graph = torch.full((3, 3), float("nan"), dtype=torch.float64)
    graph[0, 0] = 1
    alone = Relations(graph, torch.tensor([5, 0, 0]))
    root = read_relations(make_run(survey=Survey(Scores(torch.eye(3).long()), {"Z": alone}, 1)))
    assert "Fewer than two classes have pixels" in root.text
    assert root.one("p", "mean").text == "Mean similarity –"


def test_a_run_without_weights_says_so(read_relations, make_run):
    assert "No run has weights" in read_relations(make_run(metrics=[])).text


def test_cosines_have_two_digits_and_a_true_minus_but_no_negative_zero():
    assert [cosine(value) for value in (0.456, -0.456, -0.001, float("nan"))] == [
        "0.46",
        "−0.46",
        "0.00",
        "–",
    ]
