"""Splits: drawn once, kept as a file, refused for another dataset."""

from __future__ import annotations

import pytest

from recoseg.data.scenes import Scenes
from recoseg.errors import UserError
from recoseg.splits.few_images import all_labels, random_images
from recoseg.splits.split_file import LabelSplit


def scenes(**settings) -> Scenes:
    return Scenes(**{"height": 16, "width": 16, "num_train": 12, "num_val": 2, **settings})


def test_all_labels_hides_nothing() -> None:
    split = all_labels(scenes())
    assert len(split.labelled) == 12
    assert split.unlabelled == ()


def test_a_random_split_has_as_many_labels_as_asked_and_covers_all_images() -> None:
    dataset = scenes()
    split = random_images(dataset, labels=5, seed=1)
    assert len(split.labelled) == 5
    assert sorted(split.labelled + split.unlabelled) == sorted(dataset.keys("train"))


def test_a_seed_gives_the_same_split_everywhere() -> None:
    assert random_images(scenes(), labels=3, seed=0).labelled == ("train/00002", "train/00005", "train/00009")
    assert (
        random_images(scenes(), labels=3, seed=1).labelled
        != random_images(scenes(), labels=3, seed=0).labelled
    )


def test_more_labels_than_images_is_an_error() -> None:
    with pytest.raises(UserError, match="asks for 13 labelled images, the dataset has 12"):
        random_images(scenes(), labels=13, seed=0)


def test_a_split_comes_back_from_its_file(tmp_path) -> None:
    split = random_images(scenes(), labels=3, seed=0)
    split.save(tmp_path / "split.json")
    assert LabelSplit.load(tmp_path / "split.json") == split


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"labelled": 3}', '{"labelled": [], "unlabelled": [], "x": 1}']
)
def test_what_is_not_a_split_file_is_named(tmp_path, text) -> None:
    path = tmp_path / "split.json"
    path.write_text(text)
    with pytest.raises(UserError, match="not a split file"):
        LabelSplit.load(path)


def test_a_missing_split_file_is_named(tmp_path) -> None:
    with pytest.raises(UserError, match="no split file at"):
        LabelSplit.load(tmp_path / "split.json")


def test_a_split_of_another_dataset_is_refused_with_the_difference() -> None:
    split = all_labels(scenes())
    split.check_fits(scenes())
    with pytest.raises(UserError, match="4 of its keys are gone"):
        split.check_fits(scenes(num_train=8))
    other = scenes()
    other.name = "other"
    with pytest.raises(UserError, match="drawn from dataset 'scenes', this is 'other'"):
        split.check_fits(other)
