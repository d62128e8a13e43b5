"""Supervisely projects as they are downloaded: meta.json, DATASET/ann and DATASET/img."""

from __future__ import annotations

import base64
import io
import zlib

import numpy as np
import pytest
from PIL import Image

from recoseg.errors import UserError

META = {
    "classes": [
        {"title": "leaf", "shape": "bitmap", "color": "#00A000", "id": 1},
        {"title": "stem", "shape": "polygon", "color": "#C83C00", "id": 2},
    ],
    "tags": [],
}


def bitmap(mask: np.ndarray) -> str:
    """A PNG, zipped, in base64, as their own code packs it."""
    file = io.BytesIO()
    image = Image.fromarray(mask.astype(np.uint8), mode="P")
    image.putpalette([0, 0, 0, 255, 255, 255])
    image.save(file, "PNG", transparency=0, optimize=0)
    return base64.b64encode(zlib.compress(file.getvalue())).decode()


def thing(name: str, kind: str, **more) -> dict:
    return {"id": 1, "classTitle": name, "geometryType": kind, "tags": [], "bitmap": None, **more}


def points(*outer, holes=()) -> dict:
    return {
        "points": {"exterior": [list(point) for point in outer], "interior": [list(hole) for hole in holes]}
    }


def annotation(height: int, width: int, *things: dict) -> dict:
    return {
        "description": "",
        "tags": [],
        "size": {"height": height, "width": width},
        "objects": list(things),
    }


def test_bitmaps_polygons_with_holes_and_rectangles(photo, text, imported) -> None:
    photo("ds0/img/a.jpg", 6, 8)
    text("meta.json", META)
    ring = points((0, 0), (4, 0), (4, 4), (0, 4), holes=[[(1, 1), (3, 1), (3, 3), (1, 3)]])
    text("ds0/ann/a.jpg.json", annotation(
        6, 8,
        thing("leaf", "bitmap", bitmap={"data": bitmap(np.array([[1, 0], [1, 1]])), "origin": [6, 4]}),
        thing("stem", "polygon", **ring),
        thing("leaf", "rectangle", **points((5, 0), (6, 1))),
        thing("leaf", "cuboid", **points((5, 0))),
        thing("leaf", "bitmap", bitmap={"data": "AAAA", "origin": [0, 0]}),
    ))  # fmt: skip
    made = imported("supervisely")
    assert made.names == ("background", "leaf", "stem")
    assert made.told.classes.palette[1] == (0, 160, 0)
    assert made.rows("a") == ["22220110", "20020110", "20020000", "22220000", "00000010", "00000011"]
    assert made.notes == {
        "shapes of the type 'cuboid', which has no pixels: left out": 1,
        "objects that are not as the format has them: left out": 1,
    }


def test_points_and_lines_and_datasets_of_one_name(photo, text, imported) -> None:
    text("meta.json", META)
    for dataset in ("train", "val"):
        photo(f"{dataset}/img/a.jpg", 2, 3)
    text("train/ann/a.jpg.json", annotation(2, 3, thing("leaf", "point", **points((1.5, 0.5)))))
    text("val/ann/a.jpg.json", annotation(2, 3, thing("stem", "line", **points((0.5, 1.5), (2.5, 1.5)))))
    made = imported("supervisely", thickness=1)
    assert made.rows("train/img/a") == [".0.", "..."]
    assert made.rows("val/img/a") == ["...", "111"]
    assert (made.folder / "val.txt").read_text() == "val/img/a\n"


def test_a_folder_without_a_project_is_refused(text, imported) -> None:
    text("x.txt", "")
    with pytest.raises(UserError, match=r"no meta.json of Supervisely"):
        imported("supervisely")


def test_a_bitmap_that_unpacks_to_far_more_than_it_says_is_left_out(
    photo, text, imported, monkeypatch
) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 20)
    photo("ds0/img/a.jpg", 2, 3)
    text("meta.json", META)
    huge = thing("leaf", "bitmap", bitmap={"data": bitmap(np.ones((9, 9))), "origin": [0, 0]})
    text("ds0/ann/a.jpg.json", annotation(2, 3, huge, thing("stem", "rectangle", **points((0, 0), (0, 0)))))
    made = imported("supervisely")
    assert made.rows("a") == ["200", "000"]
    assert made.notes == {"objects that are not as the format has them: left out": 1}
