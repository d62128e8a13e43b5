"""Pascal VOC in its owner's layout, with and without augmented labels and lists."""

from __future__ import annotations

import numpy as np
import pytest

from recoseg.data.dataset_check import check_dataset
from recoseg.data.file_dataset import FileDataset
from recoseg.data.pascal_voc import PascalVOC
from recoseg.data.problem import FileError
from recoseg.errors import UserError

VOC = "VOCdevkit/VOC2012"
LISTS = f"{VOC}/ImageSets/Segmentation"


@pytest.fixture
def voc(tmp_path, write):
    """Two training images and one for validation, as VOCtrainval_11-May-2012.tar unpacks."""
    for key, values in {"2007_000032": [0, 1], "2007_000039": [20, 255], "2007_000033": [0, 15]}.items():
        write(f"{VOC}/JPEGImages/{key}.jpg", np.full((2, 3, 3), 90, dtype=np.uint8))
        write(f"{VOC}/SegmentationClass/{key}.png", rows(*values), "P")
    write(f"{VOC}/JPEGImages/2008_000001.jpg", np.full((2, 3, 3), 90, dtype=np.uint8))  # for detection only
    (tmp_path / LISTS).mkdir(parents=True)
    (tmp_path / LISTS / "train.txt").write_text("2007_000032\n2007_000039\n")
    (tmp_path / LISTS / "val.txt").write_text("2007_000033\n")
    return tmp_path


def rows(*values):
    return np.repeat(np.array(values, dtype=np.uint8)[:, None], 3, axis=1)


def augment(write) -> None:
    """SegmentationClassAug: grey PNG, the validation image included, and one image that VOC did not label."""
    for key in ("2007_000032", "2007_000039", "2007_000033", "2008_000001"):
        write(f"{VOC}/SegmentationClassAug/{key}.png", rows(2, 255))


@pytest.mark.parametrize("root", [".", "VOCdevkit", "VOCdevkit/VOC2012"])
def test_the_root_may_be_named_at_any_of_three_levels(voc, root) -> None:
    dataset = PascalVOC(root=str(voc / root))
    assert dataset.keys("train") == ("2007_000032", "2007_000039")
    assert dataset.keys("val") == ("2007_000033",)
    assert dataset.keys("test") == ()


def test_palette_labels_are_read_by_index_and_255_is_void(voc) -> None:
    dataset = PascalVOC(root=voc)
    assert dataset.labels("2007_000039").tolist() == [[20] * 3, [255] * 3]
    assert dataset.image("2007_000039").shape == (3, 2, 3)


def test_names_and_colours_are_those_of_the_papers_figures(voc) -> None:
    classes = PascalVOC(root=voc).classes
    assert len(classes) == 21
    colours = dict(zip(classes.names, classes.palette, strict=True))
    printed = {
        "background": (0, 0, 0), "boat": (0, 0, 128), "dog": (64, 0, 128), "person": (192, 128, 128),
        "bus": (128, 128, 128), "car": (0, 128, 128), "table": (192, 128, 0),
        "plant": (0, 64, 0), "sofa": (0, 192, 0), "monitor": (0, 64, 128),
    }  # fmt: skip
    assert {name: colours[name] for name in printed} == printed


def test_with_augmented_labels_alone_all_that_are_not_for_validation_are_for_training(voc, write) -> None:
    augment(write)
    dataset = PascalVOC(root=voc)
    assert dataset.keys("train") == ("2007_000032", "2007_000039", "2008_000001")
    assert dataset.labels("2007_000032").tolist() == rows(2, 255).tolist()
    assert dataset.labels("2007_000033").tolist() == rows(0, 15).tolist()  # the owner's own label


@pytest.mark.parametrize("name", ["Segmentation/train_aug.txt", "SegmentationAug/trainaug.txt"])
@pytest.mark.parametrize("line", ["{key}", "/JPEGImages/{key}.jpg /SegmentationClassAug/{key}.png"])
def test_an_augmented_list_decides_which_images_and_in_which_order(voc, write, name, line) -> None:
    augment(write)
    path = voc / VOC / "ImageSets" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(line.format(key=key) + "\n" for key in ("2008_000001", "2007_000032")))
    assert PascalVOC(root=voc).keys("train") == ("2008_000001", "2007_000032")


def test_test_images_are_unlabelled_and_those_not_there_are_left_out(voc) -> None:
    (voc / LISTS / "test.txt").write_text("2008_000001\n2008_000006\n")
    dataset = PascalVOC(root=voc)
    assert dataset.keys("test") == ("2008_000001",)
    assert not dataset.has_labels("2008_000001")


def test_a_training_image_whose_label_is_gone_is_unlabelled(voc) -> None:
    (voc / VOC / "SegmentationClass/2007_000032.png").unlink()
    dataset = PascalVOC(root=voc)
    assert [dataset.has_labels(key) for key in dataset.keys("train")] == [False, True]


def test_an_empty_root_says_what_was_looked_for_and_where_to_get_it(tmp_path) -> None:
    with pytest.raises(
        UserError, match=r"no JPEGImages/ or VOC2012/JPEGImages/ .* get VOCtrainval.*ox\.ac\.uk"
    ):
        PascalVOC(root=tmp_path)
    with pytest.raises(UserError, match="nowhere is no folder; get VOCtrainval"):
        PascalVOC(root=tmp_path / "nowhere")


def test_missing_labels_and_lists_are_named(voc) -> None:
    (voc / LISTS / "val.txt").unlink()
    with pytest.raises(UserError, match=r"has no ImageSets/Segmentation/val\.txt or .* get VOCtrainval"):
        PascalVOC(root=voc)
    (voc / VOC / "SegmentationClass").rename(voc / "elsewhere")
    with pytest.raises(UserError, match=r"has no SegmentationClass/\*\.png or SegmentationClassAug"):
        PascalVOC(root=voc)


def test_a_list_with_missing_images_says_how_many_and_names_one(voc) -> None:
    (voc / LISTS / "train.txt").write_text("2007_000032\n2007_999999\n")
    with pytest.raises(
        FileError, match=r"train\.txt: 1 of the 2 images .* missing, such as 2007_999999; restore"
    ):
        PascalVOC(root=voc)


def test_a_class_above_the_list_is_an_error_with_the_files_name(voc, write) -> None:
    write(f"{VOC}/SegmentationClass/2007_000032.png", rows(0, 21))
    with pytest.raises(
        FileError, match=r"2007_000032\.png: value 21 is outside the class list \(0-20, 255\); no label"
    ):
        PascalVOC(root=voc).labels("2007_000032")


def test_check_reads_every_file(voc) -> None:
    dataset = PascalVOC(root=voc)
    assert isinstance(dataset, FileDataset)
    assert not [problem for problem in check_dataset(dataset).problems if problem.fatal]
    (voc / VOC / "JPEGImages/2007_000033.jpg").write_bytes(b"\xff\xd8\xff cut")
    assert any("2007_000033.jpg" in problem.file for problem in check_dataset(dataset).problems)
