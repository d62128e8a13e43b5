"""What is written for labelling tools, and that an import of it keeps every pixel."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image
from pycocotools import mask as coco

from recoseg.errors import UserError
from recoseg.label_formats import FORMATS
from recoseg.label_formats.exporting import LabelFolder, coco_text, label_studio_setup, label_studio_text
from recoseg.label_formats.importing import ImportRules, import_labels

NAMES = ("background", "leaf", "stem")
LABELS = arrays.arrays(
    np.uint8,
    arrays.array_shapes(min_dims=2, max_dims=2, max_side=9),
    elements=st.sampled_from([0, 1, 2, 255]),
)


def dataset(root: Path, labels: dict[str, np.ndarray], names=NAMES) -> Path:
    """A folder dataset with these labels."""
    for key, pixels in labels.items():
        for kind, suffix, image in (
            ("images", ".jpg", np.zeros((*pixels.shape, 3), dtype=np.uint8)),
            ("labels", ".png", pixels),
        ):
            path = root / kind / f"{key}{suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).save(path)
    (root / "classes.json").write_text(json.dumps({"names": names, "ignore_index": 255, "format": "index"}))
    return root


def exported(root: Path, kind: str) -> object:
    folder = LabelFolder.open(root, None)
    if kind == "label_studio":
        tasks = json.loads(label_studio_text(folder, prefix="/data/local-files/?d="))
        for task in tasks:  # what the tool does when somebody confirms a prediction
            task["annotations"] = task.pop("predictions")
        return tasks
    return json.loads(coco_text(folder, folder.classes, polygons=kind == "polygons"))


def back_again(root: Path, content: object, kind: str, names) -> dict[str, np.ndarray]:
    (root / "export.json").write_text(json.dumps(content))
    format = "label_studio" if kind == "label_studio" else "coco"
    rules = ImportRules(
        classes=names if kind == "label_studio" else None,  # its files do not list the classes
        rest=None if "background" in names or format == "coco" else "void",
    )
    source = FORMATS[format].read(root / "export.json")
    import_labels(source, root / "again", rules=rules, photos=root / "images")
    assert tuple(json.loads((root / "again/classes.json").read_text())["names"]) == names
    labels = root / "again/labels"
    return {
        path.relative_to(labels).with_suffix("").as_posix(): np.asarray(Image.open(path))
        for path in labels.rglob("*.png")
    }


@pytest.mark.parametrize("kind", ["rle", "polygons", "label_studio"])
@pytest.mark.parametrize("names", [NAMES, ("soil", "leaf", "stem")], ids=["background", "all drawn"])
@settings(max_examples=15)  # each of which writes and reads a dozen files
@given(first=LABELS, second=LABELS)
def test_a_round_trip_keeps_every_pixel(kind, names, first, second) -> None:
    corner = np.array([[0, 1], [2, 255]], dtype=np.uint8)  # so that all classes are there
    labels = {"a": corner, "deep/b": first, "deep/c": second}
    with tempfile.TemporaryDirectory() as folder:
        root = dataset(Path(folder), labels, names)
        again = back_again(root, exported(root, kind), kind, names)
    for key, pixels in labels.items():
        nothing_drawn = (pixels == 0).all() and names[0] == "background"
        if nothing_drawn or (pixels == 255).all():  # of which a tool says nothing, or nothing that counts
            assert key not in again
        else:
            assert (again[key] == pixels).all()


def test_coco_has_an_object_for_each_connected_region(tmp_path) -> None:
    labels = np.array([[1, 1, 0, 1], [0, 1, 0, 255]], dtype=np.uint8)
    folder = LabelFolder.open(dataset(tmp_path, {"a": labels}), None)
    content = json.loads(coco_text(folder, folder.classes, polygons=True))
    assert content["images"] == [{"id": 1, "file_name": "a.jpg", "width": 4, "height": 2}]
    assert [one["name"] for one in content["categories"]] == ["background", "leaf", "stem", "void"]
    found = [(one["category_id"], one["area"], one["bbox"]) for one in content["annotations"]]
    assert found == [(2, 3, [0, 0, 2, 2]), (2, 1, [3, 0, 1, 1]), (256, 1, [3, 1, 1, 1])]
    assert content["annotations"][1]["segmentation"] == [[4, 0, 4, 1, 3, 1, 3, 0]]


@given(LABELS)
def test_pycocotools_reads_the_same_masks(labels) -> None:
    with tempfile.TemporaryDirectory() as folder:
        content = exported(dataset(Path(folder), {"a": labels}), "rle")
    seen = np.zeros_like(labels)
    for one in content["annotations"]:
        seen[coco.decode(one["segmentation"]).astype(bool)] = one["category_id"] - 1
    assert (seen == labels).all()


def test_the_setup_of_label_studio_lists_the_classes(tmp_path) -> None:
    root = dataset(tmp_path, {"a": np.zeros((1, 1), dtype=np.uint8)}, ("background", 'a "leaf" & <stem>'))
    setup = ElementTree.fromstring(label_studio_setup(LabelFolder.open(root, None).classes))
    assert [label.get("value") for label in setup.iter("Label")] == ['a "leaf" & <stem>', "void"]


def test_masks_of_predict_need_the_folder_of_their_images(tmp_path) -> None:
    root = dataset(tmp_path / "masks", {"deep/a": np.array([[0, 1]], dtype=np.uint8)})
    (root / "images").rename(tmp_path / "photos")
    with pytest.raises(UserError, match=r"no folder .*images; give the folder of the images with --images"):
        LabelFolder.open(root, None)
    assert LabelFolder.open(root, tmp_path / "photos").files[0][0] == "deep/a.jpg"
    (tmp_path / "photos/deep/a.jpg").unlink()
    with pytest.raises(UserError, match="belongs to no image"):
        LabelFolder.open(root, tmp_path / "photos")
    with pytest.raises(UserError, match="holds no labels/"):
        LabelFolder.open(tmp_path / "photos", None)
