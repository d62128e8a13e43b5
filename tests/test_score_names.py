"""Scores by their names: what a file has under each is what is measured."""

from __future__ import annotations

import pytest
import torch

from recoseg.evaluate import BoundaryScores, Scores
from recoseg.evaluate.scores_file import scores_as_plain
from recoseg.score_names import SCORE_NAMES


def test_every_name_leads_to_what_the_scores_say() -> None:
    confusion = torch.tensor([[6, 2], [1, 3]])
    counts = torch.tensor([[3, 1, 4], [2, 2, 4]]).T, torch.tensor([[3, 1, 4, 5], [2, 2, 4, 5]]).T
    scores = Scores(confusion, BoundaryScores(*counts, confusion))
    boundary, plain = scores.boundary, scores_as_plain(scores)
    assert boundary is not None
    expected = {
        "iou": (scores.iou, scores.mean_iou),
        "accuracy": (scores.class_accuracy, scores.accuracy),
        "boundary_iou": (boundary.iou, boundary.mean_iou),
        "boundary_f": (boundary.f_score, boundary.mean_f_score),
        "near_iou": (boundary.near.iou, boundary.near.mean_iou),
    }
    assert expected.keys() == SCORE_NAMES.keys()
    for name, (of_classes, overall) in expected.items():
        assert SCORE_NAMES[name].classes_in(plain) == pytest.approx(of_classes.tolist())
        assert SCORE_NAMES[name].overall_in(plain) == pytest.approx(overall)


@pytest.mark.parametrize("name", ["boundary_iou", "boundary_f", "near_iou"])
def test_what_nobody_counted_is_none(name: str) -> None:
    plain = scores_as_plain(Scores(torch.eye(2, dtype=torch.int64)))
    assert SCORE_NAMES[name].classes_in(plain) is None
    assert SCORE_NAMES[name].overall_in(plain) is None
    assert SCORE_NAMES[name].overall_in({}) is None
