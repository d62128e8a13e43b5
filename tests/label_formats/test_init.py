"""Which format something is in, told from its files."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from recoseg.errors import UserError
from recoseg.label_formats import FORMATS, detect_format, find_foreign_labels

COCO = {"images": [], "annotations": [], "categories": []}
LABELME = {"shapes": [], "imagePath": "a.jpg"}
TASKS = [{"id": 1, "data": {"image": "a.jpg"}, "annotations": []}]
SHORT = [{"id": 1, "image": "a.jpg", "annotator": 1}]
XML = "<?xml version='1.0'?>\n<annotations>\n  <version>1.1</version>\n  <meta></meta>\n</annotations>"

EXPORTS = [
    ("coco", {"annotations/instances_val.json": COCO}),
    ("coco", {"_annotations.coco.json": COCO}),
    ("labelme", {"a.json": LABELME}),
    ("cvat", {"annotations.xml": XML}),
    ("label_studio", {"project-1.json": TASKS}),
    ("label_studio", {"project-1-min.json": SHORT}),
    ("yolo", {"data.yaml": "names: [leaf]"}),
    ("yolo", {"labels/a.txt": "0 0.1 0.1 0.5 0.1 0.5 0.5\n"}),
]


@pytest.mark.parametrize(
    ("name", "files"), EXPORTS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_each_format_is_told_and_no_other(name, files, text, tmp_path) -> None:
    for path, content in files.items():
        text(path, content)
    assert detect_format(tmp_path / "export") == name
    assert name in FORMATS


@pytest.mark.parametrize(
    ("name", "mask"), [("voc", "SegmentationClass/a.png"), ("masks", "masks/leaf/a.png")]
)
def test_masks_are_told_by_their_folders(name, mask, photo, tmp_path) -> None:
    photo("images/a.jpg", 1, 1)
    path = photo(mask, 1, 1)
    Image.new("L", (1, 1)).save(path)
    assert detect_format(tmp_path / "export") == name


def test_a_folder_of_two_or_of_none_is_asked_about(text, tmp_path) -> None:
    text("a.json", COCO)
    text("annotations.xml", XML)
    with pytest.raises(UserError, match=r"may be coco or cvat: give FORMAT, as in recoseg import coco"):
        detect_format(tmp_path / "export")
    text("other/notes.txt", "leaf 1")
    with pytest.raises(
        UserError, match=r"no known format; give FORMAT, one of coco, labelme.*Supervisely: as COCO"
    ):
        detect_format(tmp_path / "export/other")


def test_exports_in_a_dataset_are_named_once_with_their_remedy(text, tmp_path) -> None:
    root = tmp_path / "export"
    text("labels/deep/instances.json", COCO)
    text("classes.json", {"names": ["a"]})
    text("train.txt", "a\n")
    (problem,) = find_foreign_labels(root)
    assert problem.file.endswith("labels/deep/instances.json")
    assert problem.what == "this is COCO, not a label image"
    assert problem.remedy == f"recoseg import coco {root}/labels/deep/instances.json NEW_FOLDER"
    (root / "labels/deep/instances.json").unlink()
    for name in "abc":
        text(f"labels/{name}.json", LABELME)
    (problem,) = find_foreign_labels(root)
    assert problem.what == "this is LabelMe, not a label image (and 2 more next to it)"
    assert problem.remedy == f"recoseg import labelme {root} NEW_FOLDER"


def test_what_lies_beside_label_images_is_left_alone(text, photo, tmp_path) -> None:
    text("instances.json", COCO)
    text("data.yaml", "names: [leaf]")
    assert len(find_foreign_labels(tmp_path / "export")) == 2
    photo("labels/a.png", 1, 1)
    assert find_foreign_labels(tmp_path / "export") == []
    text("labels/instances.json", COCO)
    assert len(find_foreign_labels(tmp_path / "export")) == 1


def test_each_file_is_read_once_to_tell_its_format(text, tmp_path, monkeypatch) -> None:
    for name in "abc":
        text(f"{name}.json", COCO)
    reads = []
    whole = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: (reads.append(path.name), whole(path))[1])
    assert detect_format(tmp_path / "export") == "coco"
    assert sorted(reads) == ["a.json", "b.json", "c.json"]
