"""LabelMe's JSON files, beside their images or elsewhere."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from PIL import Image

from recoseg.data.problem import FileError


def labelme(image: str, height: int, width: int, *shapes: dict) -> dict:
    """As LabelMe 5 writes it; older ones have no mask."""
    drawn = [{"group_id": None, "description": "", "flags": {}, "mask": None, **shape} for shape in shapes]
    return {
        "version": "5.5.0",
        "flags": {},
        "shapes": drawn,
        "imagePath": image,
        "imageData": None,
        "imageHeight": height,
        "imageWidth": width,
    }


def shape(label: str, kind: str | None, *points, **more) -> dict:
    return {"label": label, "shape_type": kind, "points": [list(point) for point in points], **more}


def test_every_shape_with_an_area(photo, text, imported) -> None:
    photo("a.jpg", 6, 8)
    mask = io.BytesIO()
    Image.fromarray(np.array([[True, False], [True, True]])).save(mask, "PNG")
    packed = base64.b64encode(mask.getvalue()).decode()
    text(
        "a.json",
        labelme(
            "a.jpg", 6, 8,
            shape("poly", "polygon", (0, 0), (2, 0), (2, 2), (0, 2)),
            shape("old", None, (3, 0), (4, 0), (4, 1), (3, 1)),
            shape("rect", "rectangle", (7, 2), (5, 0)),
            shape("disc", "circle", (1.5, 4.5), (1.5, 5.4)),
            shape("mask", "mask", (4, 4), (5, 5), mask=packed),
            shape("__ignore__", "polygon", (7, 4), (8, 4), (8, 6), (7, 6)),
        ),
    )  # fmt: skip
    made = imported("labelme")
    assert made.names == ("background", "disc", "mask", "old", "poly", "rect")
    assert made.rows("a") == ["44030550", "44000550", "00000000", "00000000", "0100200.", "0000220."]


def test_points_and_lines_leave_the_rest_open(photo, text, imported) -> None:
    photo("a.jpg", 5, 6)
    text(
        "a.json",
        labelme(
            "a.jpg", 5, 6,
            shape("leaf", "point", (0.5, 0.5)),
            shape("stem", "line", (1.5, 4.5), (4.5, 4.5)),
            shape("soil", "linestrip", (5.5, 0.5), (5.5, 2.5)),
        ),
    )  # fmt: skip
    made = imported("labelme", thickness=1)
    assert made.names == ("leaf", "soil", "stem")
    assert made.rows("a") == ["0....1", ".....1", ".....1", "......", ".2222."]


def test_an_image_with_a_point_beside_polygons_is_partial_too(photo, text, imported) -> None:
    for name in "ab":
        photo(f"{name}.jpg", 2, 3)
    square = shape("leaf", "polygon", (0, 0), (1, 0), (1, 1), (0, 1))
    text("a.json", labelme("a.jpg", 2, 3, square, shape("stem", "point", (2.5, 1.5))))
    text("b.json", labelme("b.jpg", 2, 3, square))
    made = imported("labelme", thickness=1)
    assert made.rows("a") == ["1..", "..2"]
    assert made.rows("b") == ["100", "000"]


def test_images_are_named_from_where_the_json_lies_also_by_windows(photo, text, imported) -> None:
    square = shape("leaf", "polygon", (0, 0), (1, 0), (1, 1), (0, 1))
    for day in ("monday", "friday"):
        photo(f"photos/{day}/x.jpg", 1, 2)
        text(f"json/{day}/x.json", labelme(f"..\\..\\photos\\{day}\\x.jpg", 1, 2, square))
    photo("photos/friday/never.jpg", 1, 2)
    made = imported("labelme")
    assert made.keys("images") == ["friday/never", "friday/x", "monday/x"]
    assert made.keys() == ["friday/x", "monday/x"]  # the other one stays unlabelled


def test_a_mask_that_says_to_be_larger_than_its_image_is_void_in_its_place(photo, text, imported) -> None:
    photo("a.jpg", 2, 3)
    square = shape("leaf", "polygon", (0, 0), (1, 0), (1, 1), (0, 1))
    huge = io.BytesIO()
    Image.new("1", (9000, 9000), 1).save(huge, "PNG")
    packed = base64.b64encode(huge.getvalue()).decode()
    text("a.json", labelme("a.jpg", 2, 3, square, shape("stem", "mask", (1, 0), (1, 1), mask=packed)))
    made = imported("labelme")
    assert made.rows("a") == ["1.0", "0.0"]
    assert made.notes == {"objects that cannot be read: void": 1}


def test_wrong_files_are_named(photo, text, imported) -> None:
    photo("a.jpg", 2, 2)
    text("a.json", labelme("a.jpg", 2, 2, {"points": [[0, 0], [2, 0], [2, 2]]}, shape("x", "cube", (1, 1)),
                           shape("y", "rectangle", (0, 0)),
                           shape("z", "polygon", (0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)),
                           shape("z", "mask", (0, 0), (1, 1), mask="no PNG")))  # fmt: skip
    text("settings.json", {"theme": "dark"})
    made = imported("labelme")
    assert made.rows("a") == ["11", "1."]
    assert made.notes == {
        "JSON files of other kinds: not read": 1,
        "objects that cannot be read: void": 3,
        "objects of the type 'cube', which cannot be drawn: void": 1,
    }
    text("b.json", "[1, 2")
    with pytest.raises(FileError, match=r"b.json: not JSON, or cut short"):
        imported("labelme")
