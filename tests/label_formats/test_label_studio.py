"""Label Studio's JSON and JSON-MIN."""

from __future__ import annotations

import numpy as np
import pytest

from recoseg.errors import UserError
from recoseg.label_formats.run_lengths import pack_brush

SIZE = {"original_width": 10, "original_height": 5, "image_rotation": 0}


def result(kind: str, label: str, **value) -> dict:
    return {
        "id": "x",
        "type": kind,
        "from_name": "l",
        "to_name": "image",
        **SIZE,
        "value": {**value, kind: [label]},
    }


def task(image: str, *results: dict, **more) -> dict:
    made = [{"id": 1, "was_cancelled": False, "result": list(results), "created_at": "2024-01-01"}]
    return {"id": 3, "data": {"image": image}, "annotations": made, "predictions": [], **more}


POLYGON = result("polygonlabels", "leaf", points=[[0, 0], [20, 0], [20, 40], [0, 40]])


def test_every_shape_with_an_area_in_percent(photo, text, imported) -> None:
    photo("a.jpg", 5, 10)
    mask = np.zeros((5, 10), dtype=bool)
    mask[4, 6:9] = True
    text("tasks.json", [task(
        "/data/upload/1/1a2b3c4d-a.jpg",
        POLYGON,
        result("rectanglelabels", "box", x=30, y=0, width=20, height=20, rotation=0),
        result("rectanglelabels", "box", x=80, y=0, width=20, height=20, rotation=90),
        result("ellipselabels", "disc", x=15, y=70, radiusX=9, radiusY=18, rotation=0),
        result("brushlabels", "brush", format="rle", rle=pack_brush(mask.ravel())),
        {"type": "choices", "value": {"choices": ["good"]}, "from_name": "c", "to_name": "image"},
    )])  # fmt: skip
    made = imported("label_studio")
    assert made.names == ("background", "box", "brush", "disc", "leaf")
    rows = made.rows("a")
    assert rows[0] == "4401100100"  # the turned box lies left of its corner, one pixel wide and two high
    assert rows[1] == "4400000100"
    assert rows[3] == "0300000000"
    assert rows[4] == "0000002220"


def test_keypoints_are_partial_labels(photo, text, imported) -> None:
    photo("a.jpg", 5, 10)
    text("tasks.json", [task("a.jpg", result("keypointlabels", "leaf", x=35, y=50, width=0.5))])
    assert imported("label_studio", thickness=1).rows("a")[2] == "...0......"


def test_json_min_says_the_same(photo, text, imported) -> None:
    photo("a.jpg", 5, 10)
    values = [{**POLYGON["value"], **SIZE}, {**result("brushlabels", "stem", format="rle",
              rle=pack_brush(np.eye(5, 10, dtype=bool).ravel()))["value"], **SIZE}]  # fmt: skip
    short = [{"image": "/data/local-files/?d=fields/a.jpg", "id": 1, "tag": values, "annotator": 1}]
    text("min.json", short)
    made = imported("label_studio")
    assert made.names == ("background", "leaf", "stem")
    assert made.rows("a") == ["1100000000", "1100000000", "0020000000", "0002000000", "0000200000"]


@pytest.mark.parametrize(
    "url",
    ["s3://bucket/fields/a%20b.jpg", "https://host.org/fields/a%20b.jpg?size=2",
     "/data/local-files/?d=fields/a%20b.jpg", "/data/upload/2/0badcafe-a%20b.jpg", "fields/a b.jpg"],
)  # fmt: skip
def test_images_are_found_wherever_label_studio_had_them(photo, text, imported, url) -> None:
    photo("fields/a b.jpg", 5, 10)
    text("tasks.json", [task(url, POLYGON)])
    assert imported("label_studio").keys() == ["a b"]


def test_the_newest_annotation_counts_and_predictions_do_not(photo, text, imported) -> None:
    for name in "abcd":
        photo(f"{name}.jpg", 5, 10)
    other = result("polygonlabels", "stem", points=[[0, 0], [20, 0], [20, 40], [0, 40]])
    twice = task("a.jpg", POLYGON)
    twice["annotations"].append({"id": 2, "result": [other], "created_at": "2024-02-01"})
    skipped = task("b.jpg", POLYGON)
    skipped["annotations"][0]["was_cancelled"] = True
    predicted = {
        "id": 5,
        "data": {"image": "c.jpg"},
        "annotations": [],
        "predictions": [{"result": [POLYGON]}],
    }
    turned = task("d.jpg", {**POLYGON, "image_rotation": 90})
    text(
        "tasks.json", [twice, skipped, predicted, turned, {"id": 9, "data": {"text": "x"}, "annotations": []}]
    )
    made = imported("label_studio")
    assert made.names == ("background", "stem")
    assert made.keys() == ["a"]
    assert made.notes == {
        "tasks without an image: left out": 1,
        "tasks with several annotations: the newest is used": 1,
        "annotations that were skipped in the tool: left out": 1,
        "tasks with unconfirmed predictions only: unlabelled": 1,
        "images that were turned in the editor: unlabelled": 1,
    }


BROKEN = {
    "a brush that is cut short": result("brushlabels", "tendril", format="rle", rle=[0, 0, 0, 200, 58]),
    "a brush of as many zeros as a number says": result("brushlabels", "stem", format="rle", rle=10**15),
    "no corners": result("polygonlabels", "stem", points=[]),
    "an angle that is no number": result(
        "rectanglelabels", "stem", x=0, y=0, width=9, height=9, rotation="nan"
    ),
    "a radius in words": result("ellipselabels", "stem", x=0, y=0, radiusX="a", radiusY=9),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_region_that_cannot_be_read_leaves_nothing_background(photo, text, imported, broken) -> None:
    photo("a.jpg", 5, 10)
    text("tasks.json", [task("a.jpg", POLYGON, broken)])
    made = imported("label_studio")
    assert made.rows("a") == ["11........", "11........", *[".........."] * 3]
    assert made.notes == {"objects that cannot be read: void": 1}


def test_a_region_without_a_label_is_void(photo, text, imported) -> None:
    photo("a.jpg", 5, 10)
    unnamed = {**POLYGON, "value": {"points": [[0, 0], [40, 0], [40, 20], [0, 20]]}}
    text("tasks.json", [task("a.jpg", POLYGON, unnamed)])
    made = imported("label_studio")
    assert made.rows("a") == ["11..000000", "1100000000", *["0000000000"] * 3]
    assert made.notes == {"objects without a known class: void": 1}


def test_a_list_of_other_things_is_refused(text, imported) -> None:
    text("tasks.json", [1, 2])
    with pytest.raises(UserError, match="no export of Label Studio"):
        imported("label_studio")
