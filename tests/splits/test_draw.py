"""From the settings of `split` to what draws it."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from recoseg.config.split_settings import SplitSettings
from recoseg.data import DATASETS
from recoseg.errors import UserError
from recoseg.splits.draw import build_split
from recoseg.splits.published import PARTITIONS


def draw(dataset, **settings):
    return build_split(SplitSettings(**settings), dataset, num_workers=1)


def sixteen(of_presence):
    return of_presence([(0, 1), (0,), (0, 2), (1,)] * 4, 3)


def test_nothing_asked_is_all_labels(of_presence) -> None:
    dataset = sixteen(of_presence)
    split = draw(dataset)
    assert (split.builder, len(split.labelled)) == ("all_labels", 16)
    assert dataset.reads == []


@pytest.mark.parametrize(
    ("fraction", "labels"), [("1/8", 2), ("0.5", 8), ("25%", 4), ("1", 16), ("1/100", 1), ("5/32", 3)]
)
def test_a_fraction_is_rounded_to_whole_images_and_never_none(of_presence, fraction, labels) -> None:
    assert len(draw(sixteen(of_presence), fraction=fraction).labelled) == labels


def test_the_fractions_of_the_papers_tables_are_its_numbers() -> None:
    """1/50, 1/20, 1/8 of 10,582 and 1/8, 1/4, 1/2 of 2,975, each rounded half up."""
    voc = [math.floor(10_582 / n + 0.5) for n in (50, 20, 8)]
    cityscapes = [math.floor(2_975 / n + 0.5) for n in (8, 4, 2)]
    assert [f"voc-{n}" in PARTITIONS for n in voc] == [True] * 3
    assert [f"cityscapes-{n}" in PARTITIONS for n in cityscapes] == [True] * 3


@pytest.mark.parametrize("fraction", ["0", "2", "-1/8", "1/0", "x", "101%", "", "1/8 of"])
def test_what_is_no_fraction_is_refused(of_presence, fraction) -> None:
    with pytest.raises(UserError, match="expected a share of the images such as 1/8"):
        draw(sixteen(of_presence), fraction=fraction)


def test_random_draws_read_no_more_than_the_drawn_labels(of_presence) -> None:
    dataset = sixteen(of_presence)
    split = draw(dataset, labels=3, random=True)
    assert split.builder == "random_images"
    assert sorted(dataset.reads) == sorted(split.labelled)


def test_the_papers_draw_is_the_default_and_says_how_it_was_done(of_presence) -> None:
    split = draw(sixteen(of_presence), labels=3, seed=5)
    assert (split.builder, split.seed) == ("few_images", 5)
    assert split.settings == {"labels": 3, "min_classes": 1}
    assert list(split.class_counts) == ["class 0", "class 1", "class 2"]


@pytest.mark.parametrize(("name", "min_classes"), [("cityscapes", 12), ("pascal_voc", 3), ("sun_rgbd", 1)])
def test_the_papers_datasets_have_its_thresholds(of_presence, name, min_classes) -> None:
    dataset = of_presence([range(14)] * 3, 14)
    dataset.min_classes = DATASETS[name].min_classes
    assert draw(dataset, labels=1).settings["min_classes"] == min_classes


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"labels": 3, "fraction": "1/8"}, "labels has no effect beside fraction"),
        ({"labels": 3, "partition": "voc-60"}, "labels has no effect beside partition"),
        ({"labels": 3, "labelled_list": "x"}, "labels has no effect beside labelled_list"),
        ({"labels": 3, "random": True, "min_classes": 2}, "min_classes has no effect beside random"),
        ({"random": True}, "random has no effect without labels or fraction"),
        ({"images_per_class": 3, "random": True}, "images_per_class has no effect beside random"),
        ({"min_classes": 3}, "min_classes has no effect without labels or fraction or images_per_class"),
        ({"unlabelled_list": "x"}, "unlabelled_list has no effect without labelled_list"),
        ({"seed": 3}, "seed has no effect where nothing is drawn"),
        ({"seed": 3, "labelled_list": "x"}, "seed has no effect where nothing is drawn"),
    ],
)
def test_a_setting_without_effect_is_an_error(of_presence, settings, message) -> None:
    with pytest.raises(UserError, match=message):
        draw(sixteen(of_presence), **settings)


def test_a_share_of_the_unlabelled_images_is_part_of_a_larger_one(of_presence) -> None:
    dataset = sixteen(of_presence)
    whole = draw(dataset, labels=4, seed=3)
    splits = [draw(dataset, labels=4, seed=3, unlabelled=share) for share in ("1%", "25%", "1/2", "1")]
    assert [len(split.unlabelled) for split in splits] == [1, 3, 6, 12]
    assert all(split.labelled == whole.labelled for split in splits)
    for smaller, larger in pairwise(splits):
        assert set(smaller.unlabelled) < set(larger.unlabelled)
    assert splits[-1].unlabelled == whole.unlabelled
    assert splits[1].settings["unlabelled"] == "25%"
    others = {draw(dataset, labels=4, seed=3 + n, unlabelled="25%").unlabelled for n in range(5)}
    assert len(others) > 1


def test_a_share_of_unlabelled_images_goes_with_partitions_and_pixels_and_needs_some(of_presence) -> None:
    dataset = cityscapes_like(of_presence)
    dataset.name = "folder"
    split = draw(dataset, partition="cityscapes-20", unlabelled="50%", pixels="1")
    assert (len(split.labelled), len(split.unlabelled)) == (20, 54)
    with pytest.raises(UserError, match="unlabelled has no effect: every training image is labelled"):
        draw(dataset, unlabelled="50%")
    with pytest.raises(UserError, match="unlabelled: expected a share of the images such as 1/8, up to 1"):
        draw(dataset, labels=4, unlabelled="2")


def test_all_partitions_of_the_papers_tables_are_there() -> None:
    assert {f"voc-{n}" for n in (60, 200, 600, 92, 183, 366, 732, 100, 212, 529, 1323)} <= set(PARTITIONS)
    assert {f"cityscapes-{n}" for n in (20, 50, 150, 100, 372, 744, 1488)} <= set(PARTITIONS)
    assert {f"sun-{n}" for n in (50, 150, 500)} <= set(PARTITIONS)
    assert len(PARTITIONS) == 21


def cityscapes_like(of_presence):
    return of_presence([[*range(11), 11 + n % 8, 11 + n // 8 % 8, 11 + (n + 3) % 8] for n in range(128)], 19)


def test_a_partition_is_drawn_from_its_dataset_or_a_folder_of_it(of_presence) -> None:
    dataset = cityscapes_like(of_presence)
    for name in ("cityscapes", "folder"):
        dataset.name = name
        split = draw(dataset, partition="cityscapes-20", seed=1)
        assert len(split.labelled) == 20
        assert min(split.class_counts.values()) >= 5
        assert split.settings["partition"] == "cityscapes-20"
    assert draw(dataset, partition="cityscapes-100").builder == "random_images"


def test_a_partition_of_another_dataset_is_refused(of_presence) -> None:
    dataset = cityscapes_like(of_presence)
    with pytest.raises(UserError, match="of cityscapes with 19 classes; this is 'memory' with 19"):
        draw(dataset, partition="cityscapes-20")
    dataset.name = "folder"
    with pytest.raises(UserError, match="of pascal_voc with 21 classes; this is 'folder' with 19"):
        draw(dataset, partition="voc-60")
    with pytest.raises(UserError, match="unknown partition 'cityscape-20'; did you mean 'cityscapes-20'"):
        draw(dataset, partition="cityscape-20")


def test_a_published_partition_needs_its_list_with_its_number_of_lines(of_presence, tmp_path) -> None:
    dataset = of_presence([range(21)] * 100, 21)
    dataset.name = "pascal_voc"
    with pytest.raises(UserError, match="a list that others published: give it as labelled_list"):
        draw(dataset, partition="voc-92")
    path = tmp_path / "92.txt"
    path.write_text("\n".join(dataset.keys("train")[:92]))
    split = draw(dataset, partition="voc-92", labelled_list=str(path))
    assert split.labelled == tuple(dataset.keys("train")[:92])
    with pytest.raises(UserError, match=r"has 183 labelled images, .*92.txt names 92"):
        draw(dataset, partition="voc-183", labelled_list=str(path))
    with pytest.raises(UserError, match="labelled_list has no effect beside partition voc-60"):
        draw(dataset, partition="voc-60", labelled_list=str(path))


def test_pixels_go_with_any_choice_of_images(of_presence) -> None:
    split = draw(sixteen(of_presence), labels=3, pixels="1")
    assert set(split.points) == set(split.labelled)
    assert len(split.labelled) == 3


def test_a_wrong_percentage_is_said_before_any_label_is_read(of_presence) -> None:
    dataset = sixteen(of_presence)
    with pytest.raises(UserError, match="no more than 100%"):
        draw(dataset, labels=3, pixels="101%")
    assert dataset.reads == []
