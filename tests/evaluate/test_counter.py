"""Scores counted batch by batch, against plain counts and the formulas of others."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from recoseg.errors import UserError
from recoseg.evaluate.boundary import BoundaryRule
from recoseg.evaluate.loop import ScoreCounter, Seen
from recoseg.evaluate.scores import confusion_matrix
from recoseg.types import IGNORE

LABELS = arrays(np.uint8, (2, 4, 5), elements=st.sampled_from([0, 1, 2, 3, IGNORE]))
PREDICTED = arrays(np.uint8, (2, 4, 5), elements=st.integers(0, 3))


def test_the_confusion_matrix_equals_a_plain_count() -> None:
    generator = np.random.default_rng(0)
    labels, predicted = generator.integers(0, 4, (2, 500)).astype(np.uint8)
    labels[::5] = IGNORE
    expected = np.zeros((4, 4), dtype=int)
    for true, guess in zip(labels, predicted, strict=True):
        if true != IGNORE:
            expected[true, guess] += 1
    counted = confusion_matrix(torch.from_numpy(predicted), torch.from_numpy(labels), 4)
    assert counted.tolist() == expected.tolist()


@given(PREDICTED, LABELS)
def test_scores_equal_the_definitions_class_by_class(predicted, labels) -> None:
    counter = ScoreCounter(4)
    counter.add(Seen(torch.from_numpy(predicted), torch.from_numpy(labels)))
    scores, counted = counter.scores(), labels != IGNORE
    ious, accuracies = [], []
    for k in range(4):
        true, guess = (labels == k) & counted, (predicted == k) & counted
        union = (true | guess).sum()
        ious.append((true & guess).sum() / union if union else math.nan)
        accuracies.append((true & guess).sum() / true.sum() if true.any() else math.nan)
    assert scores.iou.tolist() == pytest.approx(ious, nan_ok=True)
    assert scores.class_accuracy.tolist() == pytest.approx(accuracies, nan_ok=True)
    present = [iou for iou in ious if iou == iou]
    assert scores.mean_iou == pytest.approx(np.mean(present) if present else math.nan, nan_ok=True)
    right = (predicted == labels)[counted]
    assert scores.accuracy == pytest.approx(right.mean() if right.size else math.nan, nan_ok=True)
    assert scores.num_absent == 4 - len(present)


@given(PREDICTED, LABELS)
def test_images_can_be_added_in_any_order_and_grouping(predicted, labels) -> None:
    together, alone = ScoreCounter(4, boundary=BoundaryRule()), ScoreCounter(4, boundary=BoundaryRule())
    pairs = torch.from_numpy(predicted), torch.from_numpy(labels)
    together.add(Seen(*pairs))
    for number in (1, 0):
        alone.add(Seen(*(maps[number : number + 1] for maps in pairs)))
    one, other = together.scores(), alone.scores()
    assert one.confusion.equal(other.confusion)
    assert one.boundary.bands.equal(other.boundary.bands)
    assert one.boundary.contours.equal(other.boundary.contours)
    assert one.boundary.confusion.equal(other.boundary.confusion)


def test_boundaries_are_counted_only_if_asked_for() -> None:
    labels = torch.zeros(1, 3, 3, dtype=torch.uint8)
    counter = ScoreCounter(2)
    counter.add(Seen(labels, labels))
    assert counter.scores().boundary is None


def test_as_many_classes_as_there_can_be_are_counted() -> None:
    labels = torch.arange(256).to(torch.uint8).view(1, 16, 16)
    counter = ScoreCounter(255, boundary=BoundaryRule())
    counter.add(Seen(labels.clamp(max=254), labels))
    scores = counter.scores()
    assert scores.confusion.equal(torch.eye(255, dtype=torch.int64))
    assert scores.boundary.mean_f_score == 1


@pytest.mark.parametrize(("predicted", "label"), [(0, 4), (0, 254), (4, 0)])
def test_a_class_that_does_not_exist_is_refused(predicted, label) -> None:
    maps = (torch.full((1, 2, 2), value, dtype=torch.uint8) for value in (predicted, label))
    with pytest.raises(UserError, match="other classes than the 4 from 0 on"):
        ScoreCounter(4).add(Seen(*maps))


def test_nothing_added_is_no_score() -> None:
    scores = ScoreCounter(2, boundary=BoundaryRule()).scores()
    assert math.isnan(scores.mean_iou)
    assert math.isnan(scores.boundary.mean_iou)
