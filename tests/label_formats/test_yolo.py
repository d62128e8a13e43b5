"""YOLO polygons, in the layouts of Ultralytics and of Roboflow."""

from __future__ import annotations

import pytest

from recoseg.data.problem import FileError
from recoseg.errors import UserError
from recoseg.label_formats import detect_format

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
    assert made.rows("a") == ["1.", ".."]
    assert made.notes == {
        "objects with a bounding box but no mask: void": 2,
        "objects without a known class: void": 1,
        "objects that cannot be read: void": 2,
    }
    text("labels/a.txt", f"0 0.75 0.75 0.1 0.1\n7 {SQUARE[2:]}1 0.5 0 1 0 1 0.5 0.5 0.5")
    made = imported("yolo", to="again")
    assert made.rows("a") == [".1", "0."]


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


BOMB = "a0: &a0 [x]\n" + "".join(
    f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 9)}]\n" for number in range(1, 30)
)


@pytest.mark.parametrize(
    "content",
    [f"{BOMB}names: *a29\n", f"{BOMB}names: [*a29]\n", "names: [leaf",
     "names: leaf\n", "names: {a: leaf}\n", f"names: [{'a, ' * 2**17}]\n", "names: &a [*a]\n"],
    ids=["aliases", "aliases in a list", "cut short", "no list", "no numbers", "too large",
         "a list that holds itself"],
)  # fmt: skip
def test_names_that_cannot_be_read_are_an_error_and_classes_never_lose_theirs(
    content, photo, text, imported, tmp_path
) -> None:
    text("data.yaml", content)
    photo("images/a.jpg", 2, 2)
    text("labels/a.txt", SQUARE)
    with pytest.raises(FileError, match=r"data\.yaml: .*; \w"):
        imported("yolo")
    assert detect_format(tmp_path / "export") == "yolo"


def test_names_may_be_words_of_yaml_and_have_a_mark_or_the_letters_of_windows(
    photo, text, imported, tmp_path
) -> None:
    photo("images/a.jpg", 2, 2)
    text("labels/a.txt", "\ufeff" + SQUARE)
    text("data.yaml", "\ufeffnames: [yes, 010, ' leaf\n\n  stem ']\n")
    assert imported("yolo").names == ("background", "yes", "010", "leaf stem")
    (tmp_path / "export/data.yaml").unlink()
    (tmp_path / "export/classes.txt").write_bytes("bl\u00e4tter\n".encode("latin-1"))
    assert imported("yolo", to="other").names == ("background", "bl\u00e4tter")


def test_a_class_of_a_huge_number_is_refused_without_listing_those_before_it(photo, text, imported) -> None:
    photo("images/a.jpg", 2, 2)
    text("labels/a.txt", SQUARE.replace("0 ", "99999999999 ", 1))
    with pytest.raises(UserError, match="255 are the most"):
        imported("yolo")
