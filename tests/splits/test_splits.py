"""Splits: drawn once, kept as a file, refused for another dataset."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace

import pytest

from recoseg.config.split_settings import SplitSettings
from recoseg.data.scenes import Scenes
from recoseg.errors import UserError
from recoseg.splits.draw import build_split
from recoseg.splits.label_split import LabelSplit
from recoseg.splits.labelled_images import all_labels, few_images, random_images

PLAIN = {"labelled": ["a"], "unlabelled": [], "dataset": "d", "fingerprint": "f", "builder": "b"}


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
    ("asked", "checksum"),
    [
        ({"labels": 5, "seed": 1}, "c671b622f87d4aca"),
        ({"labels": 5, "random": True, "seed": 1}, "032a837a2954e649"),
        ({"images_per_class": 2}, "37d06b3ac3530472"),
        ({"pixels": "1", "seed": 7}, "3dff840b3844cb17"),
        ({"labels": 3, "pixels": "5%"}, "3a6bbc0f2ef39019"),
    ],
)
def test_a_split_file_is_the_same_on_every_machine(tmp_path, asked, checksum) -> None:
    dataset = scenes(num_train=20, height=32, width=64)
    build_split(SplitSettings(**asked), dataset, num_workers=1).save(tmp_path / "split.json")
    content = (tmp_path / "split.json").read_bytes()
    assert hashlib.sha256(content).hexdigest()[:16] == checksum


def test_the_order_of_a_listing_does_not_decide_what_is_drawn(of_presence) -> None:
    images = [(0, 1), (0,), (0, 2), (1,)] * 10
    forwards = of_presence(images, 3)
    backwards = of_presence(images, 3)
    backwards.arrays = dict(reversed(backwards.arrays.items()))
    for build in (few_images, random_images):
        first, second = build(forwards, labels=7, seed=3), build(backwards, labels=7, seed=3)
        assert set(first.labelled) == set(second.labelled)


def test_a_split_with_points_comes_back_and_can_be_read_by_people(tmp_path) -> None:
    split = replace(all_labels(scenes()), pixels="5%", points={"train/00000": ((0, 12, 3), (9, 1, 0))})
    split.save(tmp_path / "split.json")
    assert '"train/00000": "0:12,3 9:1,0"' in (tmp_path / "split.json").read_text()
    assert LabelSplit.load(tmp_path / "split.json") == split


def test_a_split_file_of_before_partial_labels_still_loads(tmp_path) -> None:
    content = {**PLAIN, "settings": {"labels": 1, "seed": 0}}
    (tmp_path / "split.json").write_text(json.dumps(content))
    assert LabelSplit.load(tmp_path / "split.json").labelled == ("a",)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", " is empty"),
        ("[]", ": must be an object, not a list"),
        ("{}", ": dataset is missing"),
        (json.dumps({**PLAIN, "x": 1}), ": x is not known"),
        (json.dumps({**PLAIN, "labelled": "ab"}), ': labelled must be a list, not "ab"'),
        (json.dumps({**PLAIN, "labelled": [1]}), ": labelled[0] must be text, not 1"),
        (json.dumps({**PLAIN, "unlabelled": ["a"]}), ": a key is named twice: 'a'"),
        (json.dumps({**PLAIN, "points": {"a": "0:1,2"}}), ": 'pixels' and 'points' go together"),
        (json.dumps({**PLAIN, "pixels": "1"}), ": 'pixels' and 'points' go together"),
        (
            json.dumps({**PLAIN, "pixels": "x", "points": {"a": "0:1,2"}}),
            ": pixels: expected 1 or a percentage",
        ),
        (
            json.dumps({**PLAIN, "pixels": "1", "points": {"a": "nonsense"}}),
            ": points.a must have points such as",
        ),
        (
            json.dumps({**PLAIN, "pixels": "1", "points": {"a": "255:1,2"}}),
            ": points.a must have points such as",
        ),
        (
            json.dumps({**PLAIN, "pixels": "1", "points": {"a": [1, 2]}}),
            ": points.a must be text, not a list",
        ),
        (json.dumps({**PLAIN, "pixels": "1", "points": {"b": "0:1,2"}}), ": points.b is no labelled image"),
    ],
)
def test_what_is_not_a_split_file_is_named(tmp_path, text, says) -> None:
    path = tmp_path / "split.json"
    path.write_text(text)
    with pytest.raises(UserError, match=re.escape(f"{path}{says}")):
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


def test_the_difference_to_another_dataset_is_named(of_presence) -> None:
    images = [(0, 1)] * 4
    split = few_images(of_presence(images, 2), labels=2, seed=0)
    split.check_fits(of_presence(images, 2))
    with pytest.raises(UserError, match="its classes are others: there were 2 and are 3"):
        split.check_fits(of_presence(images, 3))
    with pytest.raises(UserError, match=r"2 training images are not in it, e.g. '0004'"):
        split.check_fits(of_presence([*images, (0,), (1,)], 2))
    bare = of_presence(images, 2)
    bare.arrays[split.labelled[0]] = None
    with pytest.raises(UserError, match="1 of its labelled images have no labels any more"):
        split.check_fits(bare)
    hidden = of_presence(images, 2)
    hidden.arrays[split.unlabelled[0]] = None
    split.check_fits(hidden)  # labels that nobody may see need not exist
    with pytest.raises(UserError, match="the same, but other images, classes or settings changed"):
        all_labels(scenes()).check_fits(scenes(seed=1))


def test_keys_that_a_hand_put_into_the_file_must_exist() -> None:
    dataset = scenes()
    split = all_labels(dataset)
    with pytest.raises(UserError, match=r"1 of its keys are gone, e.g. 'nobody'"):
        replace(split, labelled=(*split.labelled, "nobody")).check_fits(dataset)
