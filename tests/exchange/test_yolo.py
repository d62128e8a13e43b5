"""YOLO polygons, in the layouts of Ultralytics and of Roboflow."""

from __future__ import annotations

import pytest

from recoseg.errors import UserError

SQUARE = "0 0 0 0.5 0 0.5 0.5 0 0.5\n"


def test_images_and_labels_side_by_side(photo, text, imported) -> None:
    text("data.yaml", "path: .\ntrain: images/train\nval: images/val\nnames:\n  0: leaf\n  2: stem\n")
    photo("images/train/a.jpg", 2, 4)
    photo("images/train/unlabelled.jpg", 2, 4)
    photo("images/val/b.jpg", 4, 4)
    text("labels/train/a.txt", SQUARE)
    text("labels/val/b.txt", "2 0.5 0.5 1 0.5 1 1 0.5 1\n" + SQUARE)
    made = imported("yolo")
    assert made.names == ("background", "leaf", "stem")
    assert made.rows("train/a") == ["1100", "0000"]
    assert made.rows("val/b") == ["1100", "1100", "0022", "0022"]
    assert made.keys() == ["train/a", "val/b"]
    assert (made.folder / "val.txt").read_text() == "val/b\n"


def test_the_layout_of_roboflow_and_names_in_a_list(photo, text, imported) -> None:
    text("data.yaml", "train: ../train/images\nnc: 2\nnames: ['leaf', 'stem']\n")
    photo("valid/images/a.jpg", 2, 2)
    text("valid/labels/a.txt", SQUARE.replace("0 ", "1 ", 1))
    made = imported("yolo")
    assert made.rows("a") == ["20", "00"]


def test_boxes_are_no_masks_and_wrong_lines_are_counted(photo, text, imported) -> None:
    text("data.yaml", "names: [leaf, leaf]\n")
    photo("images/a.jpg", 2, 2)
    text("labels/a.txt", f"0 0.5 0.5 0.1 0.1\n7 {SQUARE[2:]}x 0 0\n0 0 0 1\n0 0 0 1 1\n\n1 {SQUARE[2:]}")
    made = imported("yolo")
    assert made.names == ("background", "leaf")
    assert made.notes == {
        "classes that are called 'leaf' again: the same class": 1,
        "objects with a bounding box but no mask: left out": 2,
        "objects of a class that has no name: left out": 1,
        "objects that are not as the format has them: left out": 2,
    }


def test_a_hole_that_is_reached_by_a_cut(photo, text, imported) -> None:
    text("data.yaml", "names: [leaf]\n")
    photo("images/a.png", 4, 4)
    outer = [(0, 0), (4, 0), (4, 4), (0, 4), (0, 0)]
    hole = [(1, 1), (1, 3), (3, 3), (3, 1), (1, 1)]
    corners = " ".join(f"{x / 4} {y / 4}" for x, y in outer + hole)
    text("labels/a.txt", f"0 {corners}\n")
    assert imported("yolo").rows("a") == ["1111", "1001", "1001", "1111"]


def test_without_names_classes_are_numbered(photo, text, imported) -> None:
    photo("images/a.jpg", 2, 2)
    text("labels/a.txt", SQUARE.replace("0 ", "2 ", 1))
    assert imported("yolo").names == ("background", "class_0", "class_1", "class_2")


def test_an_empty_file_means_background_only_if_it_is_said(photo, text, imported) -> None:
    text("data.yaml", "names: [leaf]\n")
    for name in "abc":
        photo(f"images/{name}.jpg", 2, 2)
    text("labels/a.txt", SQUARE)
    text("labels/b.txt", "")
    assert imported("yolo").keys() == ["a"]
    assert imported("yolo", to="said", empty="background").keys() == ["a", "b"]


def test_a_folder_without_images_is_refused(text, imported) -> None:
    text("data.yaml", "names: [leaf]\n")
    with pytest.raises(UserError, match="holds no images"):
        imported("yolo")
