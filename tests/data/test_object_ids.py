"""Labels that number objects rather than classes: recognised, and offered as one class."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

from recoseg.data.dataset_check import check_folder
from recoseg.data.folder import Folder
from recoseg.errors import UserError


def objects(count: int, *, first: int = 1, step: int = 1) -> np.ndarray:
    """Squares of 2 by 2 pixels, each with its id."""
    labels = np.zeros((30, 30), dtype=np.uint16)
    for number in range(count):
        row, column = 3 * (number // 10), 3 * (number % 10)
        labels[row : row + 2, column : column + 2] = first + step * number
    return labels


def fill(folder, *labels: np.ndarray) -> None:
    (folder.root / "labels").mkdir(parents=True)
    for number, pixels in enumerate(labels):
        folder.image(f"{number}.png", *pixels.shape)
        Image.fromarray(pixels).save(folder.root / "labels" / f"{number}.tif")


@pytest.mark.parametrize(
    "labels",
    [
        (objects(5), objects(12), objects(9)),
        (objects(40, step=3), objects(31, first=7)),  # some were deleted
        (objects(12).astype(np.uint8), objects(9).astype(np.uint8), np.zeros((30, 30), dtype=np.uint8)),
        (objects(40, first=300), objects(35, first=1)),
        (objects(60),),
    ],
)
def test_object_ids_are_offered_as_one_class(folder, labels):
    fill(folder, *labels)
    (problem,) = [one for one in check_folder(folder.root).problems if one.file.endswith("classes.json")]
    assert "object ids" in problem.what
    offered = problem.remedy[problem.remedy.index("{") :]
    folder.text("classes.json", offered)
    folder.image("more.png", 30, 30)
    folder.label("more.png", objects(3))
    data = Folder(root=folder.root)
    assert data.classes.names == ("background", "object")
    for number, pixels in enumerate(labels):
        assert (data.labels(str(number)).numpy() == (pixels > 0)).all()


def test_no_advice_is_given_about_single_objects(folder):
    fill(folder, objects(5), objects(12), objects(9))
    assert not [one for one in check_folder(folder.root).problems if "never occurs" in one.what]
    with pytest.raises(UserError, match=r"object ids.*instances"):
        Folder(root=folder.root)


def test_classes_are_no_object_ids(folder):
    stripes = np.arange(30, dtype=np.uint8)[None].repeat(30, 0) % 12  # each class in several places
    some = np.where(stripes < 9, stripes, 0)
    fill(folder, stripes, some, stripes, some)
    assert len(Folder(root=folder.root).classes) == 12


def test_few_classes_that_are_one_region_each_are_no_object_ids(folder):
    fill(folder, *(objects(count).astype(np.uint8) for count in (1, 2, 4, 6)))
    assert len(Folder(root=folder.root).classes) == 7


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"names": ["a", "b", "c"]}, "needs two"),
        ({"names": ["a", "b"], "ignore_index": 1}, "ignore_index"),
    ],
)
def test_class_files_for_object_ids_are_checked(folder, fields, words):
    fill(folder, objects(3), objects(2))
    folder.text("classes.json", json.dumps({**fields, "format": "instances"}))
    with pytest.raises(UserError, match=f"{words}.*"):
        Folder(root=folder.root)


def test_a_void_id_can_be_named(folder):
    fill(folder, objects(3, first=253), objects(2))
    folder.classes(names=["background", "cell"], format="instances", ignore_index=255)
    labels = Folder(root=folder.root).labels("0")
    assert sorted(labels.unique().tolist()) == [0, 1, 255]


def test_two_listed_classes_and_object_ids_lead_to_their_format(folder):
    fill(folder, objects(3), objects(2))
    folder.classes(names=["background", "cell"])
    with pytest.raises(UserError, match=r'classes\.json.*"format": "instances"'):
        Folder(root=folder.root).labels("0")


@pytest.mark.parametrize("classes", [None, ["background", "leaf"]])
@pytest.mark.parametrize("white", [1, 255])
def test_labels_in_jpeg_files_are_refused(folder, classes, white):
    labels = np.zeros((30, 30), dtype=np.uint8)
    labels[7:20, 5:22] = white
    for name in ("a", "b"):
        folder.image(f"{name}.png", 30, 30)
        folder.label(f"{name}.jpg", labels)
    if classes:
        folder.classes(names=classes)
    problems = check_folder(folder.root).problems
    assert {problem.file for problem in problems if "JPEG" in problem.what} == {
        str(folder.root / "labels" / f"{name}.jpg") for name in ("a", "b")
    }
    assert all("save labels as PNG" in problem.remedy for problem in problems if "JPEG" in problem.what)
    assert not [problem for problem in problems if "class_2" in problem.file]
    with pytest.raises(UserError, match=r"JPEG.*save labels as PNG"):
        Folder(root=folder.root).labels("a")
