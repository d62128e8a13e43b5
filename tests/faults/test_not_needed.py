"""What a command does not need, it does not ask for.

A new case is one line of a table.
"""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from PIL import Image

from recoseg.cli.main import main
from recoseg.data.folder import Folder
from recoseg.errors import UserError


def write(path, labels=None):
    """A small image, or its labels: the upper half and the lower half have these values."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.full((32, 32, 3), 90, np.uint8)
    if labels is not None:
        pixels = np.repeat(np.array(labels, np.uint8), 16)[:, None].repeat(32, axis=1)
    Image.fromarray(pixels).save(path)


def cityscapes(root):
    for subset, stem in (("train", "aachen/aachen_0"), ("val", "bonn/bonn_0")):
        write(root / f"leftImg8bit/{subset}/{stem}_leftImg8bit.png")
        write(root / f"gtFine/{subset}/{stem}_gtFine_labelIds.png", (7, 26))


def pascal_voc(root):
    (root / "ImageSets/Segmentation").mkdir(parents=True)
    for subset in ("train", "val"):
        write(root / f"JPEGImages/{subset}_1.jpg")
        write(root / f"SegmentationClass/{subset}_1.png", (0, 15))
        (root / f"ImageSets/Segmentation/{subset}.txt").write_text(f"{subset}_1\n")


def sun_rgbd(root):
    for part, number in (("train", 5051), ("test", 1)):
        write(root / f"SUNRGBD-{part}_images/img-{number:06d}.jpg")
        write(root / f"sunrgbd_train_test_labels/img-{number:06d}.png", (1, 2))


def camvid(root):
    for subset in ("train", "val"):
        write(root / f"{subset}/0001TP_1.png")
        write(root / f"{subset}annot/0001TP_1.png", (0, 3))


def folder(root):
    for key in ("a", "b"):
        write(root / f"images/{key}.png")
        write(root / f"labels/{key}.png", (0, 1))
    (root / "classes.json").write_text('{"names": ["x", "y"]}')
    (root / "val.txt").write_text("b\n")


VAL_ALONE = [  # what makes it, its settings, and what of it is for training alone
    (cityscapes, "", ["leftImg8bit/train", "gtFine/train"]),
    (pascal_voc, "", ["ImageSets/Segmentation/train.txt"]),
    (pascal_voc, "", ["JPEGImages/train_1.jpg", "SegmentationClass/train_1.png"]),
    (sun_rgbd, "--data.split=original", ["SUNRGBD-train_images"]),
    (camvid, "", ["train", "trainannot"]),
    (folder, "", ["images/a.png", "labels/a.png"]),
]
IDS = [f"{make.__name__} without {gone[0]}" for make, _, gone in VAL_ALONE]


@pytest.mark.parametrize(("make", "settings", "gone"), VAL_ALONE, ids=IDS)
def test_validation_images_alone_are_enough_to_evaluate_on(world, capsys, make, settings, gone):
    data = [f"--data.name={make.__name__}", f"--data.root={world.path / 'data'}", *settings.split()]
    small = "--model.factory=network:small --augment.crop=32 --train.iterations=1 --train.labelled-per-step=1"
    make(world.path / "data")
    assert main(["train", *data, *small.split(), "--no-page", "--out", "trained"]) == 0
    for path in gone:
        if (world.path / "data" / path).is_dir():
            shutil.rmtree(world.path / "data" / path)
        else:
            (world.path / "data" / path).unlink()
    assert main(["evaluate", "trained", "--trust"]) == 0, capsys.readouterr().err
    assert ", val, 1 image" in capsys.readouterr().out
    assert main(["train", *data, *small.split()]) == 1
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert f"{make.__name__}: it has no training images, so there is nothing to learn from" in line


def test_the_papers_split_of_sun_rgbd_has_validation_images_in_both_folders(world, refused):
    def plant(world):
        sun_rgbd(world.path / "data")
        shutil.rmtree(world.path / "data" / "SUNRGBD-train_images")

    refused(plant, "describe data --dataset sun_rgbd", "has no SUNRGBD-train_images/")


FURTHER = [
    {"note": "leaves of 2024"},
    {"licence": "CC BY 4.0", "source": {"url": "https://example.org"}},
    {"name": "my leaves"},  # beside names
    {"description": None, "version": 3},
    {"$schema": "x", "author": ["me"]},
]


@pytest.mark.parametrize("fields", FURTHER, ids=[", ".join(fields) for fields in FURTHER])
def test_a_class_file_may_hold_further_fields(world, fields):
    (world.photos / "classes.json").write_text(json.dumps({"names": ["a", "b"], **fields}))
    assert Folder(root=world.photos).classes.names == ("a", "b")
    assert main(["check", "photos"]) == 0


MISSPELT = [
    ({"nams": ["a", "b"]}, "names"),
    ({"name": ["a", "b"]}, "names"),
    ({"classes": ["a", "b"]}, "names"),
    ({"names": ["a", "b"], "pallete": []}, "palette"),
    ({"names": ["a", "b"], "colours": []}, "palette"),
    ({"names": ["a", "b"], "ignore": 0}, "ignore_index"),
    ({"names": ["a", "b"], "ignore-index": 0}, "ignore_index"),
    ({"names": ["a", "b"], "Format": "index"}, "format"),
]


@pytest.mark.parametrize(("fields", "meant"), MISSPELT, ids=[list(fields)[-1] for fields, _ in MISSPELT])
def test_a_misspelt_field_is_still_an_error(world, fields, meant):
    (world.photos / "classes.json").write_text(json.dumps(fields))
    with pytest.raises(UserError, match=rf"classes\.json: unknown field .*; did you mean '{meant}'\?"):
        Folder(root=world.photos)
