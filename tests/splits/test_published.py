"""Splits from lists that others publish."""

from __future__ import annotations

import pytest

from recoseg.errors import UserError
from recoseg.splits.published import KeyFinder, listed_images

VOC = ("2007_000032", "2007_000039", "2008_000008")
CITIES = ("aachen/aachen_000000_000019", "aachen/aachen_000001_000019", "zurich/zurich_000000_000019")


@pytest.mark.parametrize(
    ("keys", "line", "key"),
    [
        (VOC, "2007_000039", "2007_000039"),
        (VOC, "JPEGImages/2007_000039.jpg SegmentationClassAug/2007_000039.png", "2007_000039"),
        (VOC, "/JPEGImages/2007_000039.jpg\t/SegmentationClassAug/2007_000039.png", "2007_000039"),
        (VOC, "2007_000040", None),
        (VOC, "007_000039", None),
        (CITIES, "leftImg8bit/train/zurich/zurich_000000_000019_leftImg8bit.png", CITIES[2]),
        (CITIES, "zurich_000000_000019", CITIES[2]),
        (CITIES, "train\\zurich\\zurich_000000_000019.png", CITIES[2]),
        (("bonn_0_19",), "bonn/bonn_0_19_leftImg8bit.png gtFine/bonn_0_19_gtFine_labelIds.png", "bonn_0_19"),
        (("a/1", "b/1"), "images/b/1.jpg", "b/1"),
        (("a/1", "b/1"), "1.jpg", None),
        (("my photo", "other"), "my photo", "my photo"),
        (("my photo", "other"), "my photo.jpg", "my photo"),
        (("v1.2", "v1.3"), "v1.2", "v1.2"),
    ],
)  # fmt: skip
def test_a_line_means_the_image_that_people_mean_by_it(keys, line, key) -> None:
    assert KeyFinder(keys).find(line) == key


def dataset(in_memory):
    return in_memory({key: [[0, 1]] for key in VOC} | {"bare": None}, 2)


def write(path, *lines):
    path.write_text("\n".join(lines) + "\n")
    return path


def test_all_images_that_are_not_listed_are_unlabelled(in_memory, tmp_path) -> None:
    listed = write(tmp_path / "labelled.txt", "# published", "", VOC[2], VOC[0], VOC[2])
    split = listed_images(dataset(in_memory), labelled_list=listed)
    assert split.labelled == (VOC[0], VOC[2])
    assert split.unlabelled == (VOC[1], "bare")
    assert split.settings == {"labelled_list": "labelled.txt"}
    assert split.class_counts == {"class 0": 2, "class 1": 2}


def test_an_unlabelled_list_leaves_the_other_images_out(in_memory, tmp_path) -> None:
    split = listed_images(
        dataset(in_memory),
        labelled_list=write(tmp_path / "l.txt", VOC[0]),
        unlabelled_list=write(tmp_path / "u.txt", VOC[1]),
    )
    assert (split.labelled, split.unlabelled) == ((VOC[0],), (VOC[1],))


@pytest.mark.parametrize(
    ("labelled", "unlabelled", "message"),
    [
        (["x1", VOC[0], "x2"], None, r"l.txt: 2 \(x1, x2\) of 3 lines name no training image"),
        ([f"x{n}" for n in range(9)], None, r"9 \(x0, x1, x2, x3, x4, ...\) of 9 lines"),
        (["bare"], None, r"1 \(bare\) of its images have no labels"),
        ([VOC[0], VOC[1]], [VOC[1]], r"1 \(2007_000039\) images are in both .*l.txt and .*u.txt"),
        ([], None, "the list is empty"),
        ([VOC[0]], ["nobody"], r"u.txt: 1 \(nobody\) of 1 lines"),
    ],
)
def test_a_list_that_does_not_fit_is_an_error_with_names(in_memory, tmp_path, labelled, unlabelled, message):
    with pytest.raises(UserError, match=message):
        listed_images(
            dataset(in_memory),
            labelled_list=write(tmp_path / "l.txt", *labelled),
            unlabelled_list=write(tmp_path / "u.txt", *unlabelled) if unlabelled else None,
        )


def test_a_list_that_is_not_there_or_no_text_is_an_error(in_memory, tmp_path) -> None:
    with pytest.raises(UserError, match="no list file at"):
        listed_images(dataset(in_memory), labelled_list=tmp_path / "none.txt")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00\xd8")
    with pytest.raises(UserError, match="cannot read the list"):
        listed_images(dataset(in_memory), labelled_list=tmp_path / "binary")
