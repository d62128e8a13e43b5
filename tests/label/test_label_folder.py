"""The folder: label files from the journal, labels that were there before, training on marks."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

from recoseg.data.folder import Folder
from recoseg.label.journal import NAME
from recoseg.label.label_folder import LabelFolder
from recoseg.types import IGNORE


def mark(number: int, key: str, one: object, x: int, y: int) -> dict:
    return {"id": f"m{number}", "type": "mark", "image": key, "class": one, "shape": "points", "at": [[x, y]]}


def test_label_files_are_made_again_from_the_journal(image_folder):
    root = image_folder({"a": (8, 6), "b": (8, 6)})
    folder = LabelFolder(root)
    folder.add_classes(["leaf", "soil"])
    folder.do("one", [mark(1, "a", 0, 1, 1), mark(2, "b", 1, 2, 2)])
    folder.journal.close()  # as if it had been killed: no file was written yet
    assert not (root / "labels").exists()
    again = LabelFolder(root)
    again.write_labels()
    again.close()
    dataset = Folder(root=root)
    assert dataset.partial
    assert int(dataset.labels("a")[1, 1]) == 0
    assert int(dataset.labels("b")[2, 2]) == 1
    assert int((dataset.labels("b") != IGNORE).sum()) == 1


def test_a_copy_without_what_is_hidden_is_the_same(image_folder, tmp_path):
    root = image_folder({"a": (8, 6)})
    folder = LabelFolder(root)
    folder.add_classes(["leaf"])
    folder.do("one", [mark(1, "a", 0, 1, 1)])
    folder.close()
    copy = image_folder({"a": (8, 6)}, name="copy")
    for name in (NAME, "classes.json"):
        (copy / name).write_bytes((root / name).read_bytes())
    again = LabelFolder(copy)
    assert int(again.labels("a").ids[1, 1]) == 0
    again.close()
    assert (copy / "labels" / "a.png").read_bytes() == (root / "labels" / "a.png").read_bytes()
    assert not (copy / "labels.before").exists()


def test_labels_that_were_there_before_are_taken_over_and_kept(image_folder):
    root = image_folder({"a": (4, 2), "b": (4, 2)})
    (root / "labels").mkdir()
    mask = np.array([[0, 0, 1, 1], [0, 0, 1, IGNORE]], dtype=np.uint8)
    Image.fromarray(mask).save(root / "labels" / "a.png")
    (root / "classes.json").write_text(
        json.dumps({"names": ["soil", "leaf"], "palette": [[9, 9, 9], [0, 255, 0]]})
    )
    before = (root / "labels" / "a.png").read_bytes()
    folder = LabelFolder(root)
    assert [(one.name, one.colour) for one in folder.state.classes()] == [
        ("soil", (9, 9, 9)),
        ("leaf", (0, 255, 0)),
    ]
    np.testing.assert_array_equal(folder.labels("a").ids, mask)
    folder.do("one", [mark(1, "a", 0, 3, 1)])
    folder.close()
    assert (root / "labels.before" / "a.png").read_bytes() == before
    np.testing.assert_array_equal(np.array(Image.open(root / "labels" / "a.png"))[1], [0, 0, 1, 0])
    again = LabelFolder(root)  # and not taken over a second time
    assert len(again.state.classes()) == 2
    again.close()


def test_two_classes_of_one_name_are_told_apart_in_the_class_file(image_folder):
    root = image_folder({"a": (4, 2)})
    folder = LabelFolder(root)
    folder.add_classes(["leaf"])
    rename = {"id": "1", "type": "change_class", "class": 0, "name": "soil"}
    folder.do("one", [rename, {"id": "2", "type": "add_class", "name": "leaf"}])
    folder.do("one", [{"id": "3", "type": "undo", "action": "1"}])
    folder.close()
    assert json.loads((root / "classes.json").read_text())["names"] == ["leaf", "leaf (2)"]


def test_an_image_that_cannot_be_read_has_no_size(image_folder):
    root = image_folder({"a": (4, 2)})
    (root / "images" / "broken.png").write_bytes(b"no image")
    folder = LabelFolder(root)
    assert folder.size("broken") == (0, 0)
    folder.close()


@pytest.mark.parametrize("method", ["supervised", "mean_teacher"])
def test_marked_pixels_train_with_no_further_word(image_folder, tmp_path, monkeypatch, method):
    from recoseg.cli.main import main

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = image_folder({"a": (40, 40), "b": (40, 40), "c": (40, 40)})
    folder = LabelFolder(root)
    folder.add_classes(["leaf", "soil"])
    folder.do("one", [mark(n, key, n % 2, 5 * n + 3, 20) for n, key in enumerate("aabb")])
    folder.close()
    words = ["--method", method, "--model.encoder", "resnet10_small", "--augment.crop", "32,32"]
    short = ["--train.iterations", "2", "--train.labelled_per_step", "2", "--train.evaluate_every", "2"]
    late = ["--method.supervised_start", "0", "--method.ramp", "0"] if method == "mean_teacher" else []
    out = tmp_path / "run"
    code = main(
        [
            "train",
            "--data",
            str(root),
            "--out",
            str(out),
            "--no-page",
            *words,
            *short,
            *late,
            "--model.decoder_width",
            "16",
        ]
    )
    assert code == 0
    assert (out / "weights.safetensors").is_file()
