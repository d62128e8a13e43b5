"""Scores and class lists against numbers a person can compute."""

from __future__ import annotations

import math

import pytest
import torch

from recoseg.errors import UserError
from recoseg.types import IGNORE, ClassInfo, PseudoLabels, Scores


def test_scores_of_a_small_confusion_matrix() -> None:
    scores = Scores(torch.tensor([[3, 1], [2, 4]]))
    assert scores.iou.tolist() == pytest.approx([3 / 6, 4 / 7])
    assert scores.class_accuracy.tolist() == pytest.approx([3 / 4, 4 / 6])
    assert scores.mean_iou == pytest.approx((3 / 6 + 4 / 7) / 2)
    assert scores.accuracy == pytest.approx(7 / 10)
    assert scores.num_absent == 0


def test_an_absent_class_is_nan_and_left_out_of_the_mean() -> None:
    scores = Scores(torch.tensor([[5, 0, 0], [0, 0, 0], [5, 0, 10]]))
    assert math.isnan(scores.iou[1])
    assert scores.mean_iou == pytest.approx((5 / 10 + 10 / 15) / 2)
    assert scores.num_absent == 1


def test_a_class_that_is_only_predicted_counts_as_zero() -> None:
    scores = Scores(torch.tensor([[5, 5], [0, 0]]))
    assert scores.iou.tolist() == [0.5, 0.0]
    assert math.isnan(scores.class_accuracy[1])


def test_no_counted_pixel_at_all_is_nan_not_an_error() -> None:
    scores = Scores(torch.zeros(2, 2, dtype=torch.int64))
    assert math.isnan(scores.mean_iou)
    assert math.isnan(scores.accuracy)


def test_labels_from_a_person_are_certain_except_where_there_are_none() -> None:
    labels = torch.tensor([[[0, IGNORE], [3, 1]]])
    assert PseudoLabels.certain(labels).confidence.tolist() == [[[1.0, 0.0], [1.0, 1.0]]]


@pytest.mark.parametrize(
    ("names", "palette", "message"),
    [
        ((), (), "1 to 255 classes"),
        (("a", "b"), ((0, 0, 0),), "2 class names but 1 palette"),
        (("a", "a"), ((0, 0, 0), (1, 1, 1)), "repeated: a"),
    ],
)
def test_an_impossible_class_list_is_refused(names, palette, message) -> None:
    with pytest.raises(UserError, match=message):
        ClassInfo(names, palette)
