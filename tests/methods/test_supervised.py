"""Supervised learning: its loss, what it says of its pixels, and its moving average."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from recoseg.methods.supervised import Supervised
from recoseg.types import IGNORE


def test_the_loss_is_the_mean_over_labelled_pixels(tiny_network, toy_batch, generator) -> None:
    labelled = toy_batch()
    labels = torch.full_like(labelled.labels, IGNORE)
    labels[0, 0, :3], labels[1, 5, 5] = 1, 0  # three pixels of probability 0.8, one of 0.2
    method = Supervised(tiny_network(probabilities=(0.2, 0.8)))
    output = method(replace(labelled, labels=labels), None, iteration=0, generator=generator)
    assert output.loss.item() == pytest.approx(-(3 * math.log(0.8) + math.log(0.2)) / 4)
    assert {name: part.item() for name, part in output.parts.items()} == {"supervised": output.loss.item()}
    assert not output.parts["supervised"].requires_grad


@pytest.mark.parametrize("sparse", [False, True])
def test_labelled_pixels_are_certain_and_keep_whether_they_are_sparse(
    tiny_network, toy_batch, generator, sparse
) -> None:
    labelled = replace(toy_batch(), sparse=sparse)
    output = Supervised(tiny_network())(labelled, None, iteration=0, generator=generator)
    ((_, labels),) = output.pixels
    assert torch.equal(labels.labels, labelled.labels)
    assert labels.confidence.unique().tolist() == [1]
    assert labels.sparse == sparse


def test_without_an_average_the_student_is_evaluated(tiny_network) -> None:
    method = Supervised(tiny_network())
    method.after_update(0)
    assert method.evaluation_model is method.student
    assert not method.needs_unlabelled
    assert not method.own_optimisers()


def test_with_an_average_the_mean_of_the_first_students_is_evaluated(tiny_network) -> None:
    method = Supervised(tiny_network())
    method.evaluate_average(0.99)
    for iteration, value in enumerate([3.0, 5.0]):
        method.student.classifier.bias.data.fill_(value)
        method.after_update(iteration)
    assert method.evaluation_model is not method.student
    assert method.evaluation_model.classifier.bias.tolist() == [4, 4]
