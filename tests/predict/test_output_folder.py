"""Results lie where they are looked for, and nothing is replaced unasked."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from recoseg.data.folder.folder_dataset import Folder
from recoseg.errors import UserError
from recoseg.predict import output_folder as output_module
from recoseg.predict.image_list import ImageFile
from recoseg.predict.output_folder import OutputFolder

MADE_BY = {"weights": "abc", "looks": "whole image"}
IMAGES = [ImageFile(Path("a.jpg"), Path("a")), ImageFile(Path("sub/b.jpg"), Path("sub/b"))]


def written(folder: Path, *names: str) -> list[ImageFile]:
    """Files whose content is their place, in place of images."""
    images = [ImageFile(folder / name, Path(name).with_suffix("")) for name in names]
    for image in images:
        image.path.parent.mkdir(parents=True, exist_ok=True)
        image.path.write_text(str(image.path))
    return images


def files_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_each_kind_has_its_folder(tmp_path, brightest, noise) -> None:
    output = OutputFolder(path=tmp_path / "out", confidence=True, probabilities=True)
    prediction = brightest()(noise(5, 7))
    output.prepare(IMAGES, prediction.classes, MADE_BY)
    output.write(Path("sub/b"), prediction)
    with output.probabilities_of(Path("sub/b"), (3, 5, 7)) as target:
        target[:, 0:5, 0:7] = np.full((3, 5, 7), 0.25)
    assert files_below(tmp_path / "out") == {
        "classes.json", "predictions.json", "labels/sub/b.png", "overlays/sub/b.jpg", "thumbnails/sub/b.jpg",
        "confidence/sub/b.png", "probabilities/sub/b.npy",
    }  # fmt: skip
    with Image.open(tmp_path / "out/labels/sub/b.png") as labels:
        assert np.array_equal(np.asarray(labels), prediction.labels)
    with Image.open(tmp_path / "out/overlays/sub/b.jpg") as overlay:
        assert overlay.size == (7, 5)
    saved = np.load(tmp_path / "out/probabilities/sub/b.npy")
    assert saved.dtype == np.float16
    assert (saved == 0.25).all()


def test_labels_and_classes_are_a_dataset_of_ones_own(tmp_path, brightest, noise, colours) -> None:
    output = OutputFolder(path=tmp_path / "out")
    prediction = brightest()(noise(40, 40))
    output.prepare(IMAGES, colours, MADE_BY)
    for name in ("a", "sub/b"):
        output.write(Path(name), prediction)
        path = tmp_path / "out" / "images" / f"{name}.png"
        path.parent.mkdir(parents=True)
        Image.fromarray(noise(40, 40)).save(path)
    dataset = Folder(root=tmp_path / "out")
    assert dataset.classes == colours
    assert np.array_equal(dataset.labels("a").numpy(), prediction.labels)


def test_unfinished_probabilities_leave_no_file(tmp_path) -> None:
    output = OutputFolder(path=tmp_path, probabilities=True)
    with pytest.raises(KeyboardInterrupt), output.probabilities_of(Path("a"), (3, 5, 7)):
        raise KeyboardInterrupt
    assert files_below(tmp_path) == set()


def test_results_are_replaced_only_when_asked(tmp_path, brightest, noise, colours) -> None:
    output = OutputFolder(path=tmp_path / "out")
    images = written(tmp_path / "photos", "a.jpg", "sub/b.jpg")
    assert output.prepare(images, colours, MADE_BY) == images
    output.write(Path("a"), brightest()(noise(5, 7)), image=images[0].path)
    with pytest.raises(UserError, match=r"predictions of 1 of these 2 images: --resume .* --force"):
        output.prepare(images, colours, MADE_BY)
    assert output.prepare(images, colours, MADE_BY, resume=True) == images[1:]
    assert output.prepare(images, colours, MADE_BY, overwrite=True) == images
    assert output.prepare(images[1:], colours, MADE_BY) == images[1:], "others may join"


def test_results_of_another_image_of_that_name_are_not_taken(tmp_path, brightest, noise, colours) -> None:
    output = OutputFolder(path=tmp_path / "out")
    images = written(tmp_path / "monday", "a.jpg")
    output.prepare(images, colours, MADE_BY)
    output.write(Path("a"), brightest()(noise(5, 7)), image=images[0].path)
    others = written(tmp_path / "tuesday", "a.jpg")
    with pytest.raises(UserError, match=r"another image called a than .*tuesday/a.jpg: .* -o, .* --force"):
        output.prepare(others, colours, MADE_BY, resume=True)
    assert output.prepare(others, colours, MADE_BY, overwrite=True) == others
    (tmp_path / "monday").rename(tmp_path / "moved")
    moved = [ImageFile(tmp_path / "moved" / "a.jpg", Path("a"))]
    assert output.prepare(moved, colours, MADE_BY, resume=True) == []


@pytest.mark.parametrize("folder", ["x.png", "x.jpg"])
def test_an_image_beside_a_folder_that_is_named_as_its_result(tmp_path, colours, folder) -> None:
    images = [ImageFile(Path("x.tif"), Path("x")), ImageFile(Path(folder) / "y.tif", Path(folder) / "y")]
    with pytest.raises(UserError, match=rf"result of x\.tif would be .*{folder}, which is the folder"):
        OutputFolder(path=tmp_path / "out").prepare(images, colours, MADE_BY)
    output = OutputFolder(path=tmp_path / "out")
    output.prepare(images[1:], colours, MADE_BY)
    (tmp_path / "out" / "labels" / "x.png").mkdir(parents=True)
    (tmp_path / "out" / "overlays" / "x.jpg").mkdir(parents=True)
    with pytest.raises(UserError, match=r"result of x\.tif"):
        output.prepare(images[:1], colours, MADE_BY, resume=True)


def test_an_image_that_lacks_a_kind_of_result_is_not_done(tmp_path, brightest, noise, colours) -> None:
    OutputFolder(path=tmp_path).prepare(IMAGES[:1], colours, MADE_BY)
    OutputFolder(path=tmp_path).write(Path("a"), brightest()(noise(5, 7)))
    with_confidence = OutputFolder(path=tmp_path, confidence=True)
    assert with_confidence.prepare(IMAGES[:1], colours, MADE_BY, resume=True) == IMAGES[:1]


def test_results_of_two_kinds_are_not_mixed(tmp_path, colours) -> None:
    output = OutputFolder(path=tmp_path)
    output.prepare(IMAGES, colours, MADE_BY)
    other = {**MADE_BY, "looks": "windows of 512"}
    for how in ({}, {"resume": True}, {"overwrite": True}):
        with pytest.raises(UserError, match=r"made otherwise \(other looks\).*delete it"):
            output.prepare(IMAGES, colours, other, **how)
    assert json.loads((tmp_path / "predictions.json").read_text()) == MADE_BY


@pytest.mark.parametrize("how", [{}, {"resume": True}, {"overwrite": True}])
def test_files_of_others_are_never_replaced(tmp_path, colours, how) -> None:
    (tmp_path / "labels").mkdir()
    (tmp_path / "labels" / "a.png").write_text("drawn by hand")
    (tmp_path / "classes.json").write_text("mine")
    with pytest.raises(UserError, match="holds files that are no predictions: choose a new folder with -o"):
        OutputFolder(path=tmp_path).prepare(IMAGES, colours, MADE_BY, **how)
    assert (tmp_path / "labels" / "a.png").read_text() == "drawn by hand"
    assert (tmp_path / "classes.json").read_text() == "mine"


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path, colours) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(UserError, match="out is a file"):
        OutputFolder(path=tmp_path / "out").prepare(IMAGES, colours, MADE_BY)
    assert (tmp_path / "out").read_text() == "mine"


def test_overlays_that_no_jpeg_can_hold_are_png(tmp_path, brightest, noise, monkeypatch, colours) -> None:
    monkeypatch.setattr(output_module, "LONGEST_JPEG", 6)
    output = OutputFolder(path=tmp_path)
    prediction = brightest()(noise(5, 7))
    images = written(tmp_path / "photos", "a.jpg", "b.jpg")
    output.write(Path("a"), prediction, image=images[0].path)
    with Image.open(tmp_path / "overlays" / "a.png") as overlay:
        assert np.array_equal(np.asarray(overlay), np.asarray(prediction.overlay()))
    assert output.is_done(images[0])
    assert not output.is_done(images[1])
