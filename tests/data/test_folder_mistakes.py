"""Mistakes in a folder of a user's own images: each is one line that says where, what, and what to do."""

from __future__ import annotations

import numpy as np
import pytest

from recoseg.data.build import val_keys
from recoseg.data.dataset_check import check_folder
from recoseg.data.folder import Folder
from recoseg.errors import UserError


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(
        UserError, match="nowhere does not exist; give a folder that holds images/ and labels/"
    ):
        Folder(root=tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="file is a file; give a folder"):
        Folder(root=tmp_path / "file")


def test_an_empty_folder_is_an_error(tmp_path):
    with pytest.raises(UserError, match=r"has no folder images/; put images into .* and labels into"):
        Folder(root=tmp_path)


def test_a_folder_without_images_is_an_error(tmp_path):
    (tmp_path / "images").mkdir()
    with pytest.raises(UserError, match="images holds no images"):
        Folder(root=tmp_path)


def test_no_labels_at_all_is_an_error_that_says_where_one_would_be(folder):
    folder.image("sub/a.jpg")
    with pytest.raises(
        UserError, match=r"that of images/sub/a\.jpg would be labels/sub/a\.png; put at least"
    ):
        Folder(root=folder.root)


def test_labels_of_other_names_are_an_error_that_shows_one(folder, rows):
    folder.image("a.jpg")
    folder.label("a_mask.png", rows(0, 1))
    with pytest.raises(
        UserError, match=r"1 labels have other names, such as labels/a_mask\.png: rename them"
    ):
        Folder(root=folder.root)


def test_one_labelled_image_is_not_enough_for_training_and_validation(folder, rows):
    folder.pairs(1, unlabelled=2)
    problems = check_folder(folder.root).problems
    assert [problem.what for problem in problems] == [
        "only one labelled image, but training and validation need one each"
    ]
    with pytest.raises(UserError, match=r"no labelled validation images: label at least two .* val\.txt"):
        val_keys(Folder(root=folder.root))
    folder.text("train.txt", "000\n001\n002\n")
    folder.text("val.txt", "000\n")
    assert Folder(root=folder.root).keys("val") == ("000",)


def test_a_list_entry_without_a_file_is_an_error_with_its_line(folder):
    folder.pairs(3)
    folder.text("train.txt", "000\n\nnope.png\n001.v2\n")
    with pytest.raises(
        UserError, match=r"train\.txt, line 3: nope\.png: names no file .*1 more; `recoseg check"
    ):
        Folder(root=folder.root)


def test_an_empty_list_is_an_error(folder):
    folder.pairs(3)
    folder.text("val.txt", "# nothing yet\n")
    with pytest.raises(UserError, match=r"val\.txt: the list is empty"):
        Folder(root=folder.root)


def test_a_list_that_is_not_text_is_an_error(folder):
    folder.pairs(3)
    (folder.root / "val.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match=r"cannot read the list .*val\.txt .*save it as plain UTF-8"):
        Folder(root=folder.root)


def test_two_images_of_one_stem_are_an_error(folder):
    folder.pairs(3)
    folder.image("001.jpg")
    with pytest.raises(UserError, match=r"001\.png: has the same stem as 001\.jpg.*; rename or remove one"):
        Folder(root=folder.root)


def test_a_validation_image_without_a_label_is_an_error(folder):
    folder.pairs(3, unlabelled=1)
    folder.text("val.txt", "003\n")
    with pytest.raises(UserError, match=r"003\.png: is in val\.txt but has no label to compare with"):
        Folder(root=folder.root)


def test_training_images_without_any_label_are_a_problem_but_may_be_evaluated_beside(folder):
    folder.pairs(2, unlabelled=1)
    folder.text("train.txt", "002\n")
    assert Folder(root=folder.root).keys("val") == ("000", "001")
    problems = check_folder(folder.root).problems
    assert [problem.what for problem in problems] == ["no training image has a label"]


def test_lists_that_leave_no_validation_image_are_an_error(folder):
    folder.pairs(2)
    folder.text("train.txt", "000\n001\n")
    (problem,) = check_folder(folder.root).problems
    assert problem.what == "no validation image"
    assert problem.remedy.startswith("label another image, or name images in both")
    with pytest.raises(UserError, match="no labelled validation images"):
        val_keys(Folder(root=folder.root))


def test_a_label_of_another_size_is_an_error_when_it_is_used(folder, rows):
    folder.pairs(3)
    folder.label("001.png", rows(0, 1))
    data = Folder(root=folder.root)
    with pytest.raises(UserError, match=r"001\.png: 6x2 pixels, but its image has 6x4; export the label"):
        data.sample("001")


def test_a_label_that_lies_on_its_side_points_to_exif(folder):
    folder.pairs(3)
    folder.label("001.png", np.zeros((6, 4)))
    with pytest.raises(UserError, match="turn the label upright"):
        Folder(root=folder.root).sample("001")


def test_an_unknown_key_or_subset_is_an_error(folder):
    folder.pairs(3)
    data = Folder(root=folder.root)
    with pytest.raises(UserError, match="the dataset 'folder' has no image 'zzz'"):
        data.image("zzz")
    with pytest.raises(UserError, match="unknown subset 'dev'; known: train, val, test"):
        data.keys("dev")


def test_a_folder_that_cannot_be_listed_is_an_error(folder, monkeypatch):
    def walk(top, *, onerror, followlinks):
        onerror(PermissionError(13, "Permission denied", str(top)))
        return []

    folder.pairs(3)
    monkeypatch.setattr("recoseg.data.folder.listing.os.walk", walk)
    with pytest.raises(
        UserError, match=r"cannot list .*images \(Permission denied\); make the folder readable"
    ):
        Folder(root=folder.root)
