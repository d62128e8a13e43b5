"""`recoseg prepare` and `recoseg check --dataset` as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from recoseg.data.cityscapes import IDS
from recoseg.data.sun_rgbd import paper_val


def save(path: Path, pixels) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.asarray(pixels, dtype=np.uint8)).save(path)


@pytest.fixture
def cityscapes(tmp_path) -> Path:
    root = tmp_path / "owner"
    ids = np.repeat(np.array([*IDS, 0]), 2)[None].repeat(20, axis=0)  # 20x40 pixels, all classes and void
    for subset, city in (("train", "aachen"), ("train", "bochum"), ("val", "ulm")):
        save(
            root / f"leftImg8bit/{subset}/{city}/{city}_000000_000019_leftImg8bit.png",
            np.full((20, 40, 3), 90),
        )
        save(root / f"gtFine/{subset}/{city}/{city}_000000_000019_gtFine_labelIds.png", ids)
    return root


@pytest.fixture
def sun(tmp_path) -> Path:
    root = tmp_path / "sun"
    val = min(paper_val())
    for number in {1, val}:
        save(root / f"SUNRGBD-test_images/img-{number:06d}.jpg", np.full((4, 74, 3), 90))
        save(root / f"sunrgbd_train_test_labels/img-{number:06d}.png", [np.repeat(np.arange(1, 38), 2)] * 4)
    save(root / "SUNRGBD-train_images/img-000001.jpg", np.full((4, 74, 3), 90))
    save(root / "sunrgbd_train_test_labels/img-005051.png", [np.repeat(np.arange(1, 38), 2)] * 4)
    return root


def test_a_published_dataset_is_checked_prepared_checked_and_trained_on(
    recoseg, cityscapes, tmp_path
) -> None:
    assert recoseg("check", cityscapes, "--dataset", "cityscapes").code == 0
    outcome = recoseg("prepare", "cityscapes", cityscapes, "small", "--scale", "0.5", "--workers", "1")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == "small: 3 images are ready\nto train on it: recoseg train --data small\n"
    assert "No problems found" in recoseg("check", "small").out
    named = recoseg("prepare", "cityscapes", cityscapes, "cityscapes", "--scale", "0.5", "--workers", "1")
    assert "to train on it: recoseg train --data ./cityscapes\n" in named.out  # not the dataset's name
    shortest = ["--train.iterations=1", "--train.labelled-per-step=2", "--augment.crop=16"]
    assert recoseg("train", "--data", "small", "--out", "run", "--model.decoder-width=8", *shortest).code == 0


def test_the_owners_files_can_be_trained_on_as_they_are(recoseg, cityscapes) -> None:
    shortest = ["--train.iterations=1", "--train.labelled-per-step=2", "--augment.crop=16"]
    words = ["--data", "cityscapes", "--data.root", cityscapes, "--model.decoder-width=8", *shortest]
    outcome = recoseg("train", *words, "--out", "run")
    assert outcome.code == 0, outcome.err
    assert "cityscapes, 19 classes; 2 labelled images" in outcome.out


@pytest.mark.parametrize(("dataset", "size"), [("cityscapes", (1024, 512)), ("sun_rgbd", (512, 384))])
def test_without_a_size_it_is_the_papers(recoseg, request, dataset, size) -> None:
    source = request.getfixturevalue(dataset.split("_")[0])
    assert recoseg("prepare", dataset, source, "dst").code == 0
    sizes = {Image.open(path).size for path in Path("dst").rglob("*.png")}
    assert sizes == {size}


def test_the_lists_are_those_of_the_chosen_split(recoseg, sun) -> None:
    assert recoseg("prepare", "sun_rgbd", sun, "paper", "--scale", "1").code == 0
    assert Path("paper/val.txt").read_text() == f"img-{min(paper_val()):06d}\n"
    assert recoseg("prepare", "sun_rgbd", sun, "owner", "--scale", "1", "--data.split", "original").code == 0
    assert Path("owner/train.txt").read_text() == "img-005051\n"


def test_own_images_get_the_size_asked_for(recoseg, photos) -> None:
    outcome = recoseg(
        "prepare", "folder", photos, "dst", "--height", "24", "--width", "32", "--format", "jpg"
    )
    assert outcome.code == 0, outcome.err
    assert {Image.open(path).size for path in Path("dst/images").iterdir()} == {(32, 24)}
    assert json.loads(Path("dst/prepare.json").read_text())["width"] == 32


def grey(path: Path, value: int) -> None:
    Image.fromarray(np.full((20, 30), value, dtype=np.uint16)).save(path)


def test_16_bit_images_are_scaled_alike_by_what_they_hold(recoseg, photos) -> None:
    for number, value in enumerate((0, 2048, 4000)):
        grey(photos / "images" / f"g{number}.tif", value)
    words = ["prepare", "folder", photos, "dst", "--scale", "1"]
    outcome = recoseg(*words)
    assert outcome.code == 0, outcome.err
    assert "12 of 16 bits hold data: 0-4095" in outcome.out
    values = [np.array(Image.open(f"dst/images/g{number}.png")).max() for number in range(3)]
    assert values == [0, 128, 249]
    assert json.loads(Path("dst/prepare.json").read_text())["bit_depth"] == 12
    grey(photos / "images" / "g3.tif", 9000)  # would darken it and no other image
    outcome = recoseg(*words)
    assert outcome.code == 1
    assert "bit_depth 12, not 14" in outcome.err
    assert recoseg(*words, "--data.bit_depth", "12").code == 0  # as bright as the others


def test_a_second_run_says_what_was_there(recoseg, cityscapes) -> None:
    words = ["prepare", "cityscapes", cityscapes, "dst", "--scale", "0.5"]
    recoseg(*words)
    assert recoseg(*words).out.startswith("dst: 3 images are ready, 3 of them before\n")


def test_a_damaged_file_is_named_with_its_remedy_and_exit_code_1(recoseg, cityscapes) -> None:
    path = cityscapes / "gtFine/train/aachen/aachen_000000_000019_gtFine_labelIds.png"
    path.write_bytes(path.read_bytes()[:60])
    outcome = recoseg("prepare", "cityscapes", cityscapes, "dst", "--scale", "0.5")
    assert outcome.code in (1, 2)
    assert outcome.out.startswith("dst: 2 images are ready\n1 left out of its lists; mend these and run")
    assert f"{path}\n    damaged or cut short" in outcome.out
    assert "-> copy or export the file again" in outcome.out
    assert "1 problem found." in outcome.out
    checked = recoseg("check", cityscapes, "--dataset", "cityscapes")
    assert checked.code == 1
    assert f"{path}\n    damaged or cut short" in checked.out


def test_an_interrupt_says_that_the_same_command_goes_on(recoseg, cityscapes, monkeypatch) -> None:
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("recoseg.data.preparation.prepare", interrupted)
    outcome = recoseg("prepare", "cityscapes", cityscapes, "dst")
    assert (outcome.code, outcome.err) == (130, "\nrecoseg: stopped; the same command goes on from here\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["citiscapes", "owner", "dst"], "unknown name 'citiscapes'; did you mean --data cityscapes?"),
        (["scenes", "owner", "dst"], "the scenes are drawn when needed; they have no files"),
        (["pascal_voc", "owner", "dst"], "Pascal VOC: "),
        (["cityscapes", "nowhere", "dst"], "nowhere is no folder; get leftImg8bit_trainvaltest.zip"),
        (["cityscapes", "owner", "owner"], "owner lies in owner, which is only read"),
        (["cityscapes", "owner", "owner/small"], "owner/small lies in owner"),
        (["cityscapes", "owner", "dst", "--height", "9"], "give both --height and --width, or --scale"),
        (["cityscapes", "owner", "dst", "--height", "9", "--width", "9", "--scale", "2"], "not both"),
        (["cityscapes", "owner", "dst", "--scale", "-1"], "the scale must lie between 0.01 and 16"),
        (["cityscapes", "owner", "dst", "--scale", "half"], "argument --scale: invalid float value: 'half'"),
        (["cityscapes", "owner", "dst", "--filter", "nearest"], "unknown filter 'nearest'"),
        (["cityscapes", "owner", "dst", "--format", "gif"], "unknown format 'gif'"),
        (["cityscapes", "owner", "dst", "--workers", "0"], "--workers must be at least 1, not 0"),
        (["cityscapes", "owner", "dst", "--hieght", "9"], "unexpected argument '--hieght'"),
        (["cityscapes", "owner", "dst", "--data.split", "paper"], "--data.split: unknown setting"),
        (["cityscapes", "owner"], "required: DST"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_and_exit_code_1_and_nothing_is_written(
    recoseg, cityscapes, words, message
) -> None:
    outcome = recoseg("prepare", *words)
    assert (outcome.code in (1, 2), outcome.err.count("\n")) == (True, 1), outcome.err
    assert message in outcome.err
    assert not Path("dst").exists()


def test_check_of_an_unknown_dataset_lists_the_known_ones(recoseg) -> None:
    outcome = recoseg("check", ".", "--dataset", "camvit")
    assert outcome.code in (1, 2)
    assert "unknown name 'camvit'; did you mean --data camvid?" in outcome.err
