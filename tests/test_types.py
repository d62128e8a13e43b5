"""Scores and class lists against numbers a person can compute."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from recoseg.errors import UserError
from recoseg.evaluate.scores import Scores
from recoseg.types import IGNORE, Batch, ClassInfo, ModelOutput, PseudoLabels, StepOutput


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


def test_labels_know_whether_they_are_single_pixels() -> None:
    labels = torch.zeros(1, 2, 2, dtype=torch.int64)
    assert not PseudoLabels.of_batch(Batch(torch.zeros(1, 3, 2, 2), labels, ("a",))).sparse
    assert PseudoLabels.of_batch(Batch(torch.zeros(1, 3, 2, 2), labels, ("a",), sparse=True)).sparse


def test_labels_within_what_is_shown() -> None:
    labels = PseudoLabels(torch.tensor([[[0, 1, IGNORE]]]), torch.tensor([[[0.5, 0.25, 0.0]]]))
    assert labels.within(None) is labels
    within = labels.within(torch.tensor([[[True, False, True]]]))
    assert within.labels.tolist() == [[[0, IGNORE, IGNORE]]]
    assert within.confidence.tolist() == [[[0.5, 0.0, 0.0]]]


def test_known_labels_override_pseudo_labels_and_are_certain() -> None:
    pseudo = PseudoLabels(torch.tensor([[[0, 1, 2, IGNORE]]]), torch.tensor([[[0.2, 0.97, 0.4, 0.0]]]))
    known = torch.tensor([[[IGNORE, IGNORE, 0, 1]]])
    both = pseudo.overridden_by(known)
    assert both.labels.tolist() == [[[0, 1, 0, 1]]]
    assert torch.equal(both.confidence, torch.tensor([[[0.2, 0.97, 1.0, 1.0]]]))
    assert torch.equal(pseudo.labels, torch.tensor([[[0, 1, 2, IGNORE]]]))  # the given ones stay
    assert pseudo.confidence.max().item() == pytest.approx(0.97)


def step_output(loss: float, *, supervised: float = 0.0) -> StepOutput:
    return StepOutput(
        loss=torch.tensor(loss, requires_grad=True), parts={"supervised": torch.tensor(supervised)}
    )


def test_a_further_part_adds_its_weighted_value_and_is_logged_as_it_is() -> None:
    part = torch.tensor(5.0, requires_grad=True)
    output = step_output(2.0, supervised=2.0).plus("contrast", part, weight=0.5)
    assert output.loss.item() == 4.5
    assert {name: value.item() for name, value in output.parts.items()} == {"supervised": 2, "contrast": 5}
    assert not output.parts["contrast"].requires_grad
    output.loss.backward()
    assert part.grad is not None
    assert part.grad.item() == 0.5


def test_several_parts_of_a_step_are_averaged_and_the_rest_is_the_last_ones() -> None:
    first, last = step_output(2.0, supervised=1.0), replace(step_output(4.0, supervised=2.0), note="look")
    mean = StepOutput.mean([first, last])
    assert mean.loss.item() == 3
    assert mean.parts["supervised"].item() == 1.5
    assert mean.note == "look"


def test_a_detached_step_keeps_its_numbers_and_nothing_to_go_back_through() -> None:
    prediction = ModelOutput(torch.zeros(1, 2, 1, 1, requires_grad=True))
    labels = PseudoLabels.certain(torch.zeros(1, 1, 1, dtype=torch.int64))
    output = replace(step_output(2.0, supervised=1.0), pixels=[(prediction, labels)]).detached()
    assert output.loss.item() == 2
    assert not output.loss.requires_grad
    assert output.parts["supervised"].item() == 1
    assert output.pixels == ()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("background", "cat"), 0),
        (("cat", "Background"), 1),
        (("road", "sky"), None),
        (("backgrounds",), None),
    ],
)
def test_the_background_is_the_class_of_that_name(names, expected) -> None:
    assert ClassInfo(names, ((0, 0, 0),) * len(names)).background == expected
