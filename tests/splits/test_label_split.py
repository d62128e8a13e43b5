"""A dataset seen through a split."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch

from recoseg.errors import UserError
from recoseg.splits.label_split import VisibleLabels
from recoseg.splits.labelled_images import all_labels, split_of
from recoseg.splits.labelled_pixels import PixelBudget, few_pixels
from recoseg.types import IGNORE


def two_images(in_memory):
    return in_memory({"a": [[0, 1], [1, 1]], "b": [[1, 0], [0, 0]]}, 2)


def test_hidden_labels_are_not_even_read(in_memory) -> None:
    dataset = two_images(in_memory)
    visible = VisibleLabels(dataset, split_of(dataset, ["a"], builder="test"))
    assert (visible.has_labels("a"), visible.has_labels("b")) == (True, False)
    assert visible.labels("a").tolist() == [[0, 1], [1, 1]]
    for read in (visible.labels, visible.sample):
        with pytest.raises(UserError, match="the labels of 'b' are hidden by the split"):
            read("b")
    assert dataset.reads == ["a"]
    assert visible.image("b").shape == (3, 2, 2)


def test_partial_labels_leave_only_what_may_be_seen(in_memory) -> None:
    dataset = two_images(in_memory)
    split = few_pixels(dataset, all_labels(dataset), pixels=PixelBudget.parse("1"), seed=0)
    visible = VisibleLabels(dataset, split)
    for key in "ab":
        seen, truth = visible.labels(key), dataset.labels(key)
        assert seen.unique().tolist() == [0, 1, IGNORE]
        assert (seen != IGNORE).sum() == 2
        assert torch.equal(seen[seen != IGNORE], truth[seen != IGNORE])
        assert torch.equal(visible.sample(key).labels, seen)


def test_all_of_a_classs_pixels_are_all_labels(in_memory) -> None:
    dataset = in_memory({"a": np.random.default_rng(0).integers(0, 3, (9, 11))}, 3)
    split = few_pixels(dataset, all_labels(dataset), pixels=PixelBudget.parse("100%"), seed=0)
    assert torch.equal(VisibleLabels(dataset, split).labels("a"), dataset.labels("a"))


@pytest.mark.parametrize("point", [(0, 0, 1), (0, 5, 0), (0, 0, -1), (1, 0, 0)])
def test_labels_that_changed_since_the_split_was_drawn_are_an_error(in_memory, point) -> None:
    dataset = two_images(in_memory)
    split = replace(all_labels(dataset), pixels="1", points={"a": (point,)})
    with pytest.raises(UserError, match="the label changed since the split was drawn"):
        VisibleLabels(dataset, split).labels("a")


def test_it_says_the_same_of_itself_as_its_source_and_goes_to_worker_processes(in_memory) -> None:
    dataset = two_images(in_memory)
    visible = pickle.loads(pickle.dumps(VisibleLabels(dataset, all_labels(dataset))))
    assert visible.fingerprint() == dataset.fingerprint()
    assert visible.keys("train") == dataset.keys("train")
    assert (visible.name, visible.classes) == (dataset.name, dataset.classes)
