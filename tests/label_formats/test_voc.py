"""Pascal VOC masks with their border, by value or by colour, as VOC, CVAT and labelme2voc write them."""

from __future__ import annotations

import pytest

from recoseg.colours import distinct_colours
from recoseg.data.problem import FileError
from recoseg.errors import UserError


def test_voc_by_value_with_its_border(photo, save, text, imported) -> None:
    palette = [*distinct_colours(255), (224, 224, 192)]
    for name in ("2007_1", "2007_2"):
        photo(f"VOCdevkit/VOC2012/JPEGImages/{name}.jpg", 2, 3)
    save("VOCdevkit/VOC2012/SegmentationClass/2007_1.png", [[0, 255, 15], [0, 255, 20]], palette)
    save("VOCdevkit/VOC2012/SegmentationObject/2007_1.png", [[0, 255, 1], [0, 255, 2]], palette)
    text("VOCdevkit/VOC2012/ImageSets/Segmentation/val.txt", "2007_1\n")
    made = imported("voc")
    assert (len(made.names), made.names[15], made.names[20]) == (21, "person", "monitor")
    assert made.labels("2007_1").tolist() == [[0, 255, 15], [0, 255, 20]]
    assert made.keys("images") == ["2007_1", "2007_2"]
    assert (made.folder / "val.txt").read_text() == "2007_1\n"


def test_colours_of_labelmap_txt_as_cvat_exports_segmentation_masks(photo, save, text, imported) -> None:
    photo("JPEGImages/a.jpg", 1, 4)
    save("SegmentationClass/a.png", [[(0, 0, 0), (0, 160, 0), (200, 60, 0), (224, 224, 192)]])
    text(
        "labelmap.txt",
        "# label:color_rgb:parts:actions\nbackground:0,0,0::\nleaf:0,160,0::\nstem:200,60,0::\n",
    )
    made = imported("voc")
    assert made.names == ("background", "leaf", "stem")
    assert made.rows("a") == ["012."]


def test_names_of_labelme2voc(photo, save, text, imported) -> None:
    photo("JPEGImages/a.jpg", 1, 3)
    save("SegmentationClass/a.png", [[0, 1, 255]])
    text("class_names.txt", "__ignore__\n_background_\nleaf\n")
    made = imported("voc")
    assert made.names == ("background", "leaf")
    assert made.rows("a") == ["01."]


def test_names_have_a_mark_in_front_and_never_more_than_a_file_holds(photo, save, text, imported) -> None:
    photo("JPEGImages/a.jpg", 1, 3)
    save("SegmentationClass/a.png", [[0, 1, 255]])
    path = text("class_names.txt", "\ufeff__ignore__\n_background_\nleaf\n")
    assert imported("voc").rows("a") == ["01."]
    path.write_text("\n".join(f"class {number}" for number in range(300)))
    with pytest.raises(FileError, match=r"class_names\.txt: .*300 names, where 255 are the most"):
        imported("voc", to="other")
    text("labelmap.txt", "leaf:0,300,0::\n")
    with pytest.raises(FileError, match=r"labelmap\.txt: .*the colour 0,300,0"):
        imported("voc", to="third")


def test_a_value_without_a_class_is_a_problem_and_others_go_on(photo, save, text, imported) -> None:
    for name, value in (("a", 40), ("b", 3)):
        photo(f"JPEGImages/{name}.jpg", 1, 1)
        save(f"SegmentationClass/{name}.png", [[value]])
    made = imported("voc")
    assert [problem.what for problem in made.told.problems] == [
        "value 40 is outside the class list (0-20, 255)"
    ]
    assert made.keys() == ["b"]


def test_a_folder_without_masks_is_refused(photo, imported) -> None:
    photo("images/x.jpg", 2, 2)
    with pytest.raises(UserError, match="no folder SegmentationClass"):
        imported("voc")
