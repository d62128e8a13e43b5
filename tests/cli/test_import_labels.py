"""`recoseg import`, `recoseg export-labels`, and what `recoseg check` says of exports."""

from __future__ import annotations

import json
import re
import signal
import zipfile

import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def plants(tmp_path):
    """A COCO export: two labelled images, one of them with a hint of trouble, and one that has none."""
    root = tmp_path / "plants"
    (root / "images").mkdir(parents=True)
    for name in ("a", "b", "c"):
        Image.new("RGB", (40, 30), (9, 99, 9)).save(root / f"images/{name}.jpg")
    square = [2, 2, 22, 2, 22, 22, 2, 22]
    objects = [
        {"id": 1, "image_id": 1, "category_id": 1, "segmentation": [square]},
        {"id": 2, "image_id": 2, "category_id": 3, "segmentation": [square]},
        {"id": 3, "image_id": 2, "category_id": 1, "segmentation": [[90, 0, 99, 0, 99, 9]]},
    ]
    content = {
        "images": [{"id": number, "file_name": f"{name}.jpg", "width": 40, "height": 30} for number, name in
                   ((1, "a"), (2, "b"), (4, "gone"))],
        "annotations": objects,
        "categories": [{"id": 1, "name": "leaf"}, {"id": 3, "name": "[red]stem"}],
    }  # fmt: skip
    (root / "instances.json").write_text(json.dumps(content))
    return root


TOLD = """\
{source}: COCO
┏━━━┳━━━━━━━━━━━━┳━━━━━━━━━━━━┳━━━━━━━━━┳━━━━━━━━┓
┃   ┃ colour     ┃ class      ┃  pixels ┃ images ┃
┡━━━╇━━━━━━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━━╇━━━━━━━━┩
│ 0 │ ██ #000000 │ background │ 66.67 % │      2 │
│ 1 │ ██ #ff3c3c │ leaf       │ 16.67 % │      1 │
│ 2 │ ██ #1e4bff │ [red]stem  │ 16.67 % │      1 │
│   │            │ (void)     │     0 % │      0 │
└───┴────────────┴────────────┴─────────┴────────┘
where objects overlap, the smaller one is on top; pixels without an object are background
     1 images that are not on disk: left out (such as gone.jpg)
     1 objects outside of their image: left out (such as b)
own: 3 images, 2 with labels
to look at it: recoseg check own
"""


def test_an_export_is_imported_checked_and_trained_on(recoseg, plants) -> None:
    outcome = recoseg("import", plants, "own", "--workers", "1")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == TOLD.format(source=plants)
    assert "train: 2 images, 1 with usable labels" in recoseg("check", "own").out
    again = recoseg("import", "coco", plants, "own", "--workers", "1")
    assert "own: 3 images, 2 with labels, 3 of them before\n" in again.out
    shortest = ["--train.iterations=1", "--train.labelled-per-step=2", "--augment.crop=16"]
    assert recoseg("train", "--data", "own", "--out", "run", "--model.decoder-width=8", *shortest).code == 0


def test_a_zip_and_a_file_without_its_images(recoseg, plants, tmp_path) -> None:
    with zipfile.ZipFile(tmp_path / "task.zip", "w") as file:
        for path in plants.rglob("*.*"):
            file.write(path, path.relative_to(plants))
    assert recoseg("import", "task.zip", "own", "--workers", "1").code == 0
    assert (tmp_path / "own/labels/a.png").exists()
    (plants / "instances.json").rename(tmp_path / "only.json")
    outcome = recoseg("import", "coco", "only.json", "own2", "--images", plants, "--copy", "--workers", "1")
    assert outcome.code == 0
    assert "own2: 3 images, 2 with labels" in outcome.out


def test_a_file_that_cannot_be_used_is_told_and_the_exit_code_is_1(recoseg, plants) -> None:
    (plants / "images/a.jpg").write_bytes(b"no image")
    outcome = recoseg("import", plants, "own", "--workers", "1")
    assert outcome.code == 1
    assert "own: 2 images, 1 with labels" in outcome.out
    assert "images/a.jpg" in outcome.out
    assert "1 problem found." in outcome.out


def test_an_object_that_cannot_be_read_is_void_and_with_strict_the_exit_code_is_1(recoseg, plants) -> None:
    content = json.loads((plants / "instances.json").read_text())
    content["annotations"][2]["segmentation"] = {"size": [30, 40], "counts": [2**63 - 1, 2**63 - 1, 1202]}
    (plants / "instances.json").write_text(json.dumps(content))
    for words, code in (((), 0), (("--strict",), 1), (("--strict",), 1)):  # the last one draws nothing
        outcome = recoseg("import", plants, "own", "--workers", "1", *words)
        assert (outcome.code, outcome.err) == (code, "")
        assert "1 objects that cannot be read: void (such as b)" in outcome.out
    assert set(np.unique(np.asarray(Image.open("own/labels/b.png")))) == {2, 255}


MISTAKES = [
    ("import plants", "got 1 word, needs SRC and DST, perhaps with a FORMAT before them"),
    ("import coko plants own", "unknown format 'coko'; did you mean 'coco'? Known: coco, labelme, cvat"),
    ("import supervisely plants own", "supervisely: export the project as COCO there"),
    ("import nowhere own", "there is no file or folder nowhere"),
    ("import plants plants/own", "plants/own lies in plants, which is only read"),
    ("import plants own --images nowhere", "--images nowhere is no folder"),
    ("import yolo plants own --images plants", "yolo has its images beside the labels: leave --images out"),
    ("import plants own --thickness 0", "--thickness: got 0, needs 1 to 999 pixels"),
    ("import labelme plants own", "plants holds no LabelMe file: a JSON with shapes and imagePath"),
    ("import plants/images own", "plants/images holds labels of no known format; give FORMAT"),
    ("export-labels plants x.json", "plants holds no labels/; give a dataset"),
    ("export-labels plants x.json --format label_studio --polygons", "--polygons: only for --format coco"),
    ("export-labels plants x.json --prefix http", "--prefix: only for --format label_studio"),
    ("check plants", "plants/instances.json: this is COCO, not a label image; recoseg import coco"),
]


@pytest.mark.parametrize(("words", "told"), MISTAKES, ids=[words for words, _ in MISTAKES])
def test_mistakes_are_one_line(recoseg, plants, words, told) -> None:
    if words == "check plants":
        (plants / "images").rename(plants / "photos")
    outcome = recoseg(*words.split())
    assert outcome.code == 1
    assert outcome.err.startswith(f"recoseg: {told}")
    assert outcome.err.count("\n") == 1


def test_check_names_the_remedy_for_an_export_in_labels(recoseg, plants) -> None:
    (plants / "labels").mkdir()
    (plants / "instances.json").rename(plants / "labels/instances.json")
    Image.fromarray(np.eye(30, 40, dtype=np.uint8)).save(plants / "labels/a.png")
    Image.fromarray(np.eye(30, 40, dtype=np.uint8)).save(plants / "labels/b.png")
    outcome = recoseg("check", plants)
    assert outcome.code == 1
    assert "this is COCO, not a label image" in outcome.out
    joined = " ".join(outcome.out.split())
    assert f"-> recoseg import coco {plants}/labels/instances.json NEW_FOLDER" in joined


def test_masks_go_to_the_tools_and_come_back(recoseg, plants, tmp_path) -> None:
    recoseg("import", plants, "own", "--workers", "1")
    assert recoseg("export-labels", "own", "masks.json").out == "masks.json: 2 images, 0.0 MB\n"
    assert recoseg("export-labels", "own", "masks.json").code == 1  # it is there
    assert recoseg("export-labels", "own", "masks.json", "--polygons", "--force").code == 0
    recoseg("import", "masks.json", "back", "--images", plants, "--workers", "1")
    for name in "ab":
        labels = [
            np.asarray(Image.open(tmp_path / f"{folder}/labels/{name}.png")) for folder in ("own", "back")
        ]
        assert (labels[0] == labels[1]).all()
    outcome = recoseg(
        "export-labels", "own", "tasks.json", "--format", "label_studio", "--prefix", "s3://plants/"
    )
    assert (
        outcome.out.splitlines()[1] == "tasks.xml: the labelling interface, for the settings of the project"
    )
    (tmp_path / "others.xml").write_text("mine")
    assert recoseg("export-labels", "own", "others.json", "--format", "label_studio").code == 1
    assert (tmp_path / "others.xml").read_text() == "mine"
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    assert [task["data"]["image"] for task in tasks] == ["s3://plants/a.jpg", "s3://plants/b.jpg"]


def test_after_a_kill_the_same_command_gives_the_same_files(recoseg, background, plants, tmp_path) -> None:
    content = json.loads((plants / "instances.json").read_text())
    for number in range(100, 400):
        (plants / f"images/{number}.jpg").write_bytes((plants / "images/a.jpg").read_bytes())
        content["images"].append({"id": number, "file_name": f"{number}.jpg", "width": 40, "height": 30})
        content["annotations"].append({**content["annotations"][number % 2], "image_id": number})
    (plants / "instances.json").write_text(json.dumps(content))
    killed = background("import", plants, "own", "--workers", "1", quick=True)
    log = tmp_path / "own/imported.jsonl"
    killed.wait_for(lambda: log.exists() and log.read_text().count("\n") > 5)
    killed.signal_all(signal.SIGKILL)
    killed.wait()
    num_before = log.read_text().count("\n")
    outcome = recoseg("import", plants, "own", "--workers", "1")
    assert outcome.code == 0
    kept = re.search(r"own: 303 images, 302 with labels(?:, (\d+) of them before)?\n", outcome.out)
    assert int(kept[1]) in (num_before, num_before - 1)  # the last line may have been cut short
    whole = recoseg("import", plants, "whole", "--workers", "1")
    assert whole.out.splitlines()[1:-2] == outcome.out.splitlines()[1:-2]
    for path in (tmp_path / "whole").rglob("*.*"):
        if path.is_file() and path.suffix != ".jsonl":
            assert (tmp_path / "own" / path.relative_to(tmp_path / "whole")).read_bytes() == path.read_bytes()
    assert not list((tmp_path / "own").rglob(".*"))
