"""COCO files in their documented layouts: instances and what may be odd about them, panoptic, several."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from recoseg.data.folder import Folder
from recoseg.data.problem import FileError
from recoseg.errors import UserError
from recoseg.label_formats.run_lengths import counts_of, pack_counts


@pytest.fixture
def one_image(photo, text, coco_file):
    """`one_image(annotations)`: an image of 4x6 pixels."""

    def write(*annotations, categories=None):
        photo("images/a.png", 4, 6)
        listed = [{"id": 7, "file_name": "a.png", "height": 4, "width": 6}]
        return text(
            "instances.json", coco_file(listed, [{"image_id": 7, **one} for one in annotations], categories)
        )

    return write


def test_polygons_several_an_object_and_the_smaller_on_top(one_image, imported, box) -> None:
    one_image(
        {"category_id": 2, "segmentation": [box(1, 1, 2, 2), box(5, 0, 6, 1)]},
        {"category_id": 1, "segmentation": [box(0, 0, 4, 3)]},
    )
    made = imported("coco")
    assert made.names == ("background", "leaf", "stem")
    assert made.rows("a") == ["111102", "121100", "111100", "000000"]
    assert made.told.pixels[:3].tolist() == [24 - 13, 11, 2]
    assert imported("coco", to="later", overlap="later").rows("a")[1] == "111100"
    assert imported("coco", to="void", overlap="void").rows("a")[1] == "1.1100"


def test_masks_as_run_lengths_in_both_spellings(one_image, imported) -> None:
    mask = np.zeros((4, 6), dtype=bool)
    mask[1:3, 2:5] = True
    mask[1, 3] = False  # a hole at the rim
    counts = counts_of(mask.ravel(order="F"))
    one_image(
        {"category_id": 1, "segmentation": {"size": [4, 6], "counts": counts.tolist()}},
    )
    assert (imported("coco", to="plain").labels("a") == mask).all()
    one_image({"category_id": 1, "segmentation": {"size": [4, 6], "counts": pack_counts(counts, 4, 6)}})
    assert (imported("coco", to="packed").labels("a") == mask).all()


def test_a_crowd_is_void_beneath_single_objects(one_image, imported, box) -> None:
    crowd = np.zeros((4, 6), dtype=bool)
    crowd[:2] = True
    one_image(
        {"category_id": 1, "segmentation": [box(0, 0, 2, 1)]},
        {
            "category_id": 1,
            "iscrowd": 1,
            "segmentation": {"size": [4, 6], "counts": counts_of(crowd.ravel(order="F")).tolist()},
        },
    )
    for rule in ("smaller", "later", "void"):
        made = imported("coco", to=rule, overlap=rule)
        assert made.rows("a") == ["11....", "......", "000000", "000000"]
        assert made.notes["crowd regions: void, beneath single objects"] == 1


def test_ids_with_gaps_and_two_categories_of_one_name(one_image, imported, box) -> None:
    one_image(
        {"category_id": 90, "segmentation": [box(0, 0, 1, 1)]},
        {"category_id": 17, "segmentation": [box(1, 0, 2, 1)]},
        {"category_id": 3, "segmentation": [box(2, 0, 3, 1)]},
        {"category_id": 4, "segmentation": [box(3, 0, 4, 1)]},
        categories=[{"id": 90, "name": "leaf"}, {"id": 3, "name": "stem"}, {"id": 17, "name": "leaf"}],
    )
    made = imported("coco")
    assert made.names == ("background", "stem", "leaf")
    assert made.rows("a")[0] == "221.00"
    assert made.notes == {"objects without a known class: void": 1}


def test_what_covers_no_pixel_is_left_out_and_counted(one_image, imported, box) -> None:
    one_image(
        {"category_id": 1, "segmentation": [box(4, 2, 60, 40)]},
        {"category_id": 1, "segmentation": [box(40, 2, 60, 40)]},
        {"category_id": 1, "segmentation": [box(1.1, 1.1, 1.2, 1.2)]},
        {"category_id": 1, "segmentation": [[0, 0, 3, 3]]},
        {"image_id": 8, "category_id": 1, "segmentation": [box(0, 0, 1, 1)]},
        {"caption": "a leaf"},
    )
    made = imported("coco")
    assert made.rows("a") == ["000000", "000000", "000011", "000011"]
    assert made.told.num_voided == 0
    assert made.notes == {
        "annotations of images that the file does not list: left out": 1,
        "objects that reach beyond their image: cut at its border": 1,
        "objects outside of their image: left out": 1,
        "objects too small to cover the centre of a pixel: left out": 1,
        "polygons of fewer than three corners: left out": 1,
        "annotations without a category, such as captions: left out": 1,
    }


BOX = [0, 0, 3, 1]  # x, y, width, height
UNREADABLE = {
    "half a pair": {"segmentation": [[0, 0, 3]]},
    "a letter": {"segmentation": [[0, 0, 3, "x", 1, 1]]},
    "no number": {"segmentation": [[0, 0, 3, float("nan"), 1, 1]]},
    "beyond any image": {"segmentation": [[0, 0, 3, 1e308, -1e308, 1]]},
    "no list": {"segmentation": 7},
    "no polygon": {"segmentation": ["x"]},
    "too few pixels": {"segmentation": {"size": [4, 6], "counts": [1, 2]}},
    "pixels below 0": {"segmentation": {"size": [4, 6], "counts": [-1, 2, 23]}},
    "a sum that wraps": {"segmentation": {"size": [4, 6], "counts": [2**62, 2**62, 2**62, 2**62, 24]}},
    "a sum of 64 bits that wraps": {"segmentation": {"size": [4, 6], "counts": [2**64 - 1, 25]}},
    "beyond 64 bits": {"segmentation": {"size": [4, 6], "counts": [10**30]}},
    "parts of pixels": {"segmentation": {"size": [4, 6], "counts": [23.5, 0.5]}},
    "letters of no counts": {"segmentation": {"size": [4, 6], "counts": "é~"}},
    "letters without end": {"segmentation": {"size": [4, 6], "counts": "o" * 100_000}},
    "letters that are cut short": {"segmentation": {"size": [4, 6], "counts": "ho"}},
    "letters whose sum wraps": {"segmentation": {"size": [4, 6], "counts": "ooooooo?" * 4}},
    "counts in a dict": {"segmentation": {"size": [4, 6], "counts": {"a": 1}}},
    "a mask of another size": {"segmentation": {"size": [5, 6], "counts": [30]}},
    "no counts": {"segmentation": {"size": [4, 6]}},
    "a size without a number": {"segmentation": {"size": ["a", 6], "counts": [24]}},
    "keypoints in pairs": {"keypoints": [1, 1, 2, 2]},
    "a class in a list": {"category_id": [1], "segmentation": [[0, 0, 3, 0, 3, 3]]},
}


@pytest.mark.parametrize("broken", UNREADABLE.values(), ids=UNREADABLE)
def test_an_object_that_cannot_be_read_is_void_in_its_box_or_where_nothing_is(
    one_image, imported, box, broken
) -> None:
    leaf = {"category_id": 1, "segmentation": [box(0, 0, 2, 2)]}
    one_image(leaf, {"category_id": 2, **broken, "bbox": BOX})
    made = imported("coco", to="in its box")
    assert made.rows("a") == ["11.000", "110000", "000000", "000000"]
    assert (made.notes, made.told.num_voided) == ({"objects that cannot be read: void": 1}, 1)
    one_image(leaf, {"category_id": 2, **broken, "bbox": BOX[:3]})
    made = imported("coco", to="anywhere")
    assert made.rows("a") == ["11....", "11....", "......", "......"]
    assert made.names == ("background", "leaf", "stem")


def test_an_image_without_a_readable_object_is_unlabelled(one_image, imported) -> None:
    one_image(
        {"category_id": 1, "bbox": BOX, "segmentation": [[0, 0, 3]]},
        {"category_id": 1, "bbox": BOX, "segmentation": []},
    )
    made = imported("coco", empty="background")
    assert made.keys() == []
    assert made.notes == {
        "objects that cannot be read: void": 1,
        "objects with a bounding box but no mask: void": 1,
    }


def test_a_box_without_a_mask_beside_other_objects_is_void(one_image, imported, box) -> None:
    one_image(
        {"category_id": 1, "segmentation": [box(0, 0, 2, 2)]},
        {"category_id": 2, "bbox": BOX, "segmentation": []},
    )
    made = imported("coco")
    assert made.rows("a") == ["11.000", "110000", "000000", "000000"]
    assert made.told.num_voided == 1


@pytest.mark.parametrize("colour", [[1, 2, 300], [1, 2, "3"], [1.5, 2, 3], [-1, 0, 0], [1, 2], "red", 7])
def test_a_colour_that_is_none_is_replaced(one_image, imported, box, colour) -> None:
    one_image(
        {"category_id": 1, "segmentation": [box(0, 0, 2, 2)]},
        categories=[{"id": 1, "name": "leaf", "color": colour}],
    )
    assert imported("coco").told.classes.palette == ((0, 0, 0), (255, 60, 60))


def test_keypoints_alone_become_partial_labels(one_image, imported) -> None:
    one_image({"category_id": 2, "keypoints": [1, 1, 2, 4, 2, 1, 5, 3, 2, 0, 0, 0]})
    made = imported("coco", thickness=1)
    assert made.names == ("leaf", "stem")  # there is no background where nothing is said of it
    assert made.rows("a") == ["......", ".1....", "......", ".....1"]


def test_panoptic_segments_are_colours_and_zero_is_void(photo, text, imported, tmp_path) -> None:
    photo("val2017/a.jpg", 2, 3)
    ids = np.array([[0, 5, 70000], [5, 5, 70000]])
    colours = np.stack((ids % 256, ids // 256 % 256, ids // 65536), axis=2).astype(np.uint8)
    folder = tmp_path / "export/annotations/panoptic_val2017"
    folder.mkdir(parents=True)
    Image.fromarray(colours).save(folder / "a.png")
    segments = [{"id": 5, "category_id": 200, "iscrowd": 0}, {"id": 70000, "category_id": 1, "iscrowd": 1}]
    content = {
        "images": [{"id": 1, "file_name": "a.jpg", "height": 2, "width": 3}],
        "annotations": [{"image_id": 1, "file_name": "a.png", "segments_info": segments}],
        "categories": [
            {"id": 1, "name": "person", "isthing": 1, "color": [220, 20, 60]},
            {"id": 200, "name": "sky", "isthing": 0, "color": [70, 130, 180]},
        ],
    }
    text("annotations/panoptic_val2017.json", content)
    made = imported("coco")
    assert made.names == ("person", "sky")
    assert made.told.classes.palette == ((220, 20, 60), (70, 130, 180))
    assert made.rows("a") == [".10", "110"]
    assert made.keys("images") == ["a"]  # the PNG of segments is no photo
    assert (made.folder / "val.txt").read_text() == "a\n"


def test_files_of_training_and_validation_share_their_classes(photo, text, imported, coco_file, box) -> None:
    for number, subset in enumerate(("train", "valid")):
        photo(f"{subset}/{subset}.jpg", 2, 2)
        listed = [{"id": 1, "file_name": f"{subset}.jpg", "height": 2, "width": 2}]
        objects = [{"image_id": 1, "category_id": number + 1, "segmentation": [box(0, 0, 2, 1)]}]
        text(f"{subset}/_annotations.coco.json", coco_file(listed, objects))
    made = imported("coco")
    assert made.rows("train/train") == ["11", "00"]
    assert made.rows("valid/valid") == ["22", "00"]
    assert (made.folder / "val.txt").read_text() == "valid/valid\n"
    dataset = Folder(root=made.folder)
    assert [list(dataset.keys(subset)) for subset in ("train", "val")] == [["train/train"], ["valid/valid"]]


def test_files_that_are_not_coco_are_refused_with_their_name(text, imported, coco_file) -> None:
    path = text("x.json", "{")
    with pytest.raises(FileError, match=r"x.json: not JSON, or cut short"):
        imported("coco")
    text("x.json", {"images": []})
    with pytest.raises(UserError, match=r"export holds no COCO file"):
        imported("coco")
    text("x.json", {"images": [{"file_name": "a.jpg"}], "annotations": [], "categories": []})
    with pytest.raises(FileError, match=r"x.json: not as COCO writes it \(no 'id' in it\); export it again"):
        imported("coco", path)
    text("x.json", coco_file([], []))
    with pytest.raises(UserError, match="lists no images"):
        imported("coco", path)
    twice = [{"id": 1, "file_name": "a.jpg"}, {"id": 1, "file_name": "b.jpg"}]
    text("x.json", coco_file(twice, []))
    with pytest.raises(FileError, match="two images of one id"):
        imported("coco", path)
