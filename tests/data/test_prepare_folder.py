"""Preparing people's own images: names, classes and unlabelled images survive."""

from __future__ import annotations

import json

from recoseg.data.folder import Folder
from recoseg.data.prepare import Resize, prepare

HALF = Resize(scale=0.5)


def test_own_images_with_dots_and_hashes_in_their_names_keep_them(folder, tmp_path, rows) -> None:
    for name in ("a.v2", "#1", "plain"):
        folder.image(f"{name}.png")
        folder.label(f"{name}.png", rows(0, 1, 2, 255))
    folder.text("val.txt", "plain\n")
    source = Folder(root=folder.root)
    prepare(source, source=folder.root, destination=tmp_path / "dst", resize=HALF)
    prepared = Folder(root=tmp_path / "dst")
    assert (prepared.keys("train"), prepared.keys("val")) == (("#1", "a.v2"), ("plain",))
    assert prepared.classes.names == source.classes.names
    record = json.loads((tmp_path / "dst/prepare.json").read_text())
    assert (record["dataset"], record["scale"], record["height"]) == ("folder", 0.5, None)


def test_images_without_a_label_stay_unlabelled(folder, tmp_path) -> None:
    folder.pairs(3, unlabelled=2)
    source = Folder(root=folder.root)
    assert prepare(source, source=folder.root, destination=tmp_path / "dst", resize=HALF).problems == ()
    prepared = Folder(root=tmp_path / "dst")
    assert prepared.keys("train") == source.keys("train")
    assert [prepared.has_labels(f"{number:03d}") for number in range(5)] == [True] * 3 + [False] * 2
