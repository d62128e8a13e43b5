"""SUN RGB-D in the layout in which its 37 classes are passed on, with the owner's and the paper's split."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from recoseg.data.problem import FileError
from recoseg.data.sun_rgbd import NUM_IMAGES, SunRGBD, key_of, paper_val
from recoseg.errors import UserError

IMAGE = np.full((2, 3, 3), 90, dtype=np.uint8)
JOINED = "sunrgbd_train_test_labels"


def rows(*values):
    return np.repeat(np.array(values, dtype=np.uint8)[:, None], 3, axis=1)


@pytest.fixture
def sun(tmp_path, write):
    """Two test images and two training images, each folder counting from 1; labels numbered through."""
    for number in (1, 2):
        write(f"SUNRGBD-test_images/img-{number:06d}.jpg", IMAGE)
        write(f"SUNRGBD-train_images/img-{number:06d}.jpg", IMAGE)
        write(f"{JOINED}/img-{number:06d}.png", rows(number, 0))
        write(f"{JOINED}/img-{number + 5050:06d}.png", rows(35 + number, 0))
    return tmp_path


def test_training_labels_come_after_the_5050_test_labels(sun) -> None:
    dataset = SunRGBD(root=str(sun), split="original")
    assert dataset.keys("train") == ("img-005051", "img-005052")
    assert dataset.keys("val") == ("img-000001", "img-000002")
    assert dataset.labels("img-005052").tolist() == [[36] * 3, [255] * 3]
    assert dataset.labels("img-000001").tolist() == [[0] * 3, [255] * 3]
    assert dataset.entry("img-005051").image == sun / "SUNRGBD-train_images/img-000001.jpg"


def test_training_images_that_are_numbered_through_already_are_taken_so(sun) -> None:
    before = SunRGBD(root=sun)
    for number in (1, 2):
        path = sun / "SUNRGBD-train_images" / f"img-{number:06d}.jpg"
        path.rename(path.with_name(f"img-{number + 5050:06d}.jpg"))
    after = SunRGBD(root=sun)
    assert after.fingerprint() == before.fingerprint()
    assert after.entry("img-005051").labels == before.entry("img-005051").labels


def test_labels_may_lie_in_a_folder_for_each_part(sun) -> None:
    before = SunRGBD(root=sun)
    for part, numbers in (("test", (1, 2)), ("train", (5051, 5052))):
        (sun / f"{part}37labels").mkdir()
        for number in numbers:
            (sun / JOINED / f"img-{number:06d}.png").rename(
                sun / f"{part}37labels/img37labels-{number:06d}.png"
            )
    after = SunRGBD(root=sun)
    assert after.fingerprint() == before.fingerprint()
    assert after.labels("img-005052").tolist() == [[36] * 3, [255] * 3]


def test_the_papers_split_has_475_validation_images_and_never_changes() -> None:
    val = paper_val()
    assert len(val) == 475
    assert min(val) >= 1
    assert max(val) <= NUM_IMAGES
    text = "\n".join(key_of(number) for number in sorted(val))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "7c282306dc06cbca"


def test_in_the_papers_split_no_image_changes_sides_when_others_are_missing(sun, write) -> None:
    listed = min(number for number in paper_val() if number <= 5050)
    write(f"SUNRGBD-test_images/img-{listed:06d}.jpg", IMAGE)
    dataset = SunRGBD(root=sun)
    assert dataset.keys("val") == (key_of(listed),)
    assert dataset.keys("train") == ("img-000001", "img-000002", "img-005051", "img-005052")


def test_names_and_colours_are_those_of_the_papers_figures(sun) -> None:
    classes = SunRGBD(root=sun).classes
    assert (len(classes), classes.names[0], classes.palette[0]) == (37, "wall", (148, 65, 137))
    assert (classes.names[27], classes.palette[27]) == ("bath curtain", (134, 181, 60))
    assert (classes.names[36], classes.palette[36]) == ("bag", (161, 176, 169))


def test_an_unknown_split_lists_the_known_ones(sun) -> None:
    with pytest.raises(
        UserError, match=r"unknown split of SUN RGB-D 'papre'; did you mean 'paper'\? Known: paper"
    ):
        SunRGBD(root=sun, split="papre")


@pytest.mark.parametrize("gone", ["SUNRGBD-test_images", "SUNRGBD-train_images", JOINED])
def test_a_missing_folder_is_named_with_its_source(sun, gone) -> None:
    (sun / gone).rename(sun / "moved")
    with pytest.raises(UserError, match=rf"has no {gone}/.*; get SUNRGBD-train_images\.tgz.*princeton"):
        SunRGBD(root=sun)


def test_empty_folders_and_labels_of_other_images_are_named(sun) -> None:
    for path in (sun / JOINED).iterdir():
        path.rename(path.with_name(path.name.replace("img-00", "img-01")))
    with pytest.raises(UserError, match=r"has no labels sunrgbd_train_test_labels/img-\*\.png that belong"):
        SunRGBD(root=sun)
    for path in (sun / "SUNRGBD-test_images").iterdir():
        path.unlink()
    with pytest.raises(UserError, match=r"SUNRGBD-test_images has no img-\*\.jpg; get"):
        SunRGBD(root=sun)


def test_a_class_above_the_list_is_an_error_with_the_files_name(sun, write) -> None:
    write(f"{JOINED}/img-000001.png", rows(38, 1))
    with pytest.raises(FileError, match=r"img-000001\.png: value 38 is outside the class list \(0-37\)"):
        SunRGBD(root=sun).labels("img-000001")
