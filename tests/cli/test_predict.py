"""Whole predictions through the command line."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import recoseg as package
from recoseg.label.label_folder import LabelFolder
from recoseg.models.encoders import ENCODERS
from recoseg.predict.output_folder import OutputFolder


@pytest.fixture
def run(trained_run, small):
    """In the current folder."""
    return trained_run("run", *small)


def results(folder) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_is_labelled(recoseg, run, photos, tmp_path) -> None:
    outcome = recoseg("predict", "run", "photos/images", "-o", "out")
    assert outcome.code == 0, outcome.err
    assert re.search(r"8 images labelled, [\d.]+ images/s: out", outcome.out)
    names = [f"p{number}" for number in range(8)]
    assert results(tmp_path / "out") == {
        "classes.json", "predictions.json", "index.html", *(f"labels/{name}.png" for name in names),
        *(f"{kind}/{name}.jpg" for kind in ("overlays", "thumbnails") for name in names),
    }  # fmt: skip
    expected = package.load("run", trust=True)(photos / "images" / "p3.jpg")
    with Image.open("out/labels/p3.png") as labels:
        assert np.array_equal(np.asarray(labels), expected.labels)
        assert labels.size == Image.open("photos/images/p3.jpg").size
    classes = json.loads((tmp_path / "out" / "classes.json").read_text())
    assert tuple(classes["names"]) == expected.classes.names


def test_everything_that_can_be_asked_for_is_written(recoseg, run, photos, tmp_path) -> None:
    outcome = recoseg(
        "predict", "run", "photos/images/p1.jpg", "-o", "out", "--confidence", "--probabilities",
        "--no-overlay", "--window", 32, "--overlap", 0.5, "--flip", "--scales", 0.5, 1,
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    assert results(tmp_path / "out") == {
        "classes.json", "predictions.json", "labels/p1.png", "confidence/p1.png", "probabilities/p1.npy",
    }  # fmt: skip
    model = package.load("run", trust=True, window=32, overlap=0.5, flip=True, scales=[0.5, 1])
    expected = model("photos/images/p1.jpg", probabilities=True)
    assert np.load("out/probabilities/p1.npy") == pytest.approx(expected.probabilities, abs=1e-3)
    with Image.open("out/confidence/p1.png") as confidence:
        assert np.asarray(confidence) / 65535 == pytest.approx(expected.confidence, abs=1e-4)
    looks = json.loads((tmp_path / "out" / "predictions.json").read_text())["looks"]
    assert looks == "windows of 32, overlap 0.5, flipped, scales 0.5 1"


def test_the_gallery_has_all_images_of_the_folder_also_after_a_resume(recoseg, run, photos, tmp_path) -> None:
    def gallery() -> list[float]:
        text = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
        return [float(value) for value in re.findall(r'data-confidence="([\d.]+)"', text)]

    outcome = recoseg("predict", "run", "photos/images/p1.jpg", "photos/images/p2.jpg", "-o", "out")
    assert "gallery: out/index.html" in outcome.out, outcome.err
    assert len(gallery()) == 2
    assert recoseg("predict", "run", "photos/images", "-o", "out", "--resume").code == 0
    assert len(gallery()) == 8
    assert gallery() == sorted(gallery())
    model = package.load("run", trust=True)
    means = [model(photos / "images" / f"p{k}.jpg").confidence.mean() for k in range(8)]
    assert gallery() == pytest.approx(sorted(means), abs=1e-5)
    (tmp_path / "out" / "index.html").unlink()
    again = recoseg("predict", "run", "photos/images", "-o", "out", "--resume")
    assert "nothing is left to do" in again.out
    assert len(gallery()) == 8


def test_the_look_of_overlays_can_be_chosen_and_is_written_down(recoseg, run, photos, tmp_path) -> None:
    photo, names = photos / "images" / "p1.jpg", package.load("run", trust=True).classes.names
    words = ["--opacity", 0.8, "--legend", "--untinted", *names[:2]]
    outcome = recoseg("predict", "run", photo, "-o", "out", *words)
    assert outcome.code == 0, outcome.err
    expected = package.load("run", trust=True)(photo).overlay(opacity=0.8, legend=True, untinted=names[:2])
    with Image.open(tmp_path / "out" / "overlays" / "p1.jpg") as overlay:
        assert overlay.size == expected.size
        assert np.abs(np.asarray(overlay).astype(int) - np.asarray(expected)).mean() < 4
    made_by = json.loads((tmp_path / "out" / "predictions.json").read_text())
    assert made_by["overlays"] == f"opacity 0.8, untinted {names[0]}, {names[1]}, legend"
    other = recoseg("predict", "run", photo, "-o", "out", "--force")
    assert "made otherwise (other overlays)" in other.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--opacity", "1.5"], "opacity: got 1.5, needs a number from 0 (contours alone) to 1"),
        (["--untinted", "nobody"], "untinted: unknown class 'nobody'"),
        (["--no-overlay", "--opacity", "0.5"], "--opacity has no effect with --no-overlay"),
        (["--no-overlay", "--legend"], "--legend has no effect with --no-overlay"),
        (["--no-overlay", "--untinted"], "--untinted has no effect with --no-overlay"),
    ],
)
def test_a_look_that_cannot_be_is_an_error_of_one_line(
    recoseg, run, photos, tmp_path, words, message
) -> None:
    outcome = recoseg("predict", "run", "photos/images/p1.jpg", "-o", "out", *words)
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert message in outcome.err
    assert not (tmp_path / "out").exists()


def test_images_of_all_kinds_keep_their_size(recoseg, run, tmp_path) -> None:
    folder = tmp_path / "kinds"
    folder.mkdir()
    for mode in ("1", "L", "P", "RGB", "RGBA", "I;16"):
        Image.new(mode, (9, 5)).save(folder / f"{mode.replace(';', '')}.png")
    Image.new("CMYK", (9, 5)).save(folder / "cmyk.jpg")
    Image.new("RGB", (1, 1), (9, 9, 9)).save(folder / "one_pixel.png")
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (9, 5)).save(folder / "lying.jpg", exif=exif)
    assert recoseg("predict", "run", "kinds", "-o", "out").code == 0
    sizes = {path.stem: Image.open(path).size for path in (tmp_path / "out" / "labels").iterdir()}
    assert sizes.pop("one_pixel") == (1, 1)
    assert sizes.pop("lying") == (5, 9), "as a viewer shows it"
    assert set(sizes.values()) == {(9, 5)}
    assert len(sizes) == 7


def test_a_damaged_file_is_told_and_the_others_are_done(recoseg, run, photos, tmp_path) -> None:
    content = (photos / "images" / "p4.jpg").read_bytes()
    (photos / "images" / "p4.jpg").write_bytes(content[:-200])
    outcome = recoseg("predict", "run", "photos/images", "-o", "out")
    assert outcome.code in (1, 2)
    assert "left out: photos/images/p4.jpg: damaged or cut short" in outcome.err
    assert "7 images labelled" in outcome.out
    assert "1 of 8 images could not be read" in outcome.out
    assert len(list((tmp_path / "out" / "labels").iterdir())) == 7


def test_a_call_that_ended_early_is_gone_on_with(recoseg, run, photos, tmp_path, monkeypatch) -> None:
    write, done = OutputFolder.write, []

    def full(self, name, prediction, *, image) -> None:
        if len(done) == 3:
            raise OSError(28, "No space left on device")
        done.append(name)
        write(self, name, prediction, image=image)

    monkeypatch.setattr(OutputFolder, "write", full)
    ended = recoseg("predict", "run", "photos/images", "-o", "out")
    assert (ended.code, ended.err) == (1, "recoseg: No space left on device\n")
    monkeypatch.setattr(OutputFolder, "write", write)
    refused = recoseg("predict", "run", "photos/images", "-o", "out")
    assert refused.code == 1
    assert "out already holds predictions of 3 of these 8 images: --resume" in refused.err
    first = (tmp_path / "out" / "labels" / f"{done[0]}.png").stat().st_mtime_ns
    resumed = recoseg("predict", "run", "photos/images", "-o", "out", "--resume")
    assert resumed.code == 0, resumed.err
    assert "3 of 8 images have their results in out already" in resumed.out
    assert "5 images labelled" in resumed.out
    assert (tmp_path / "out" / "labels" / f"{done[0]}.png").stat().st_mtime_ns == first
    assert recoseg("predict", "run", "photos/images", "-o", "out", "--force").code == 0
    assert (tmp_path / "out" / "labels" / f"{done[0]}.png").stat().st_mtime_ns > first
    again = recoseg("predict", "run", "photos/images", "-o", "out", "--resume")
    assert (again.code, "nothing is left to do" in again.out) == (0, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["photos/images", "-o", "photos/images/out"], "is inside the input folder photos/images"),
        (["photos/images/p1.jpg", "-o", "photos"], "p1.jpg is inside the output folder photos"),
        (["nowhere.jpg", "-o", "out"], "there is no file or folder nowhere.jpg"),
        (["photos/*.gif", "-o", "out"], "no image matches photos/*.gif"),
        (["photos/images", "-o", "small_network.py"], "small_network.py is a file"),
        (["photos/images"], "the following arguments are required: -o/--out"),
        (["photos/images", "-o", "out", "--window", "5"], "window: got 5"),
        (["photos/images", "-o", "out", "--device", "abacus"], "device: 'abacus' cannot be used here"),
        (["photos/images", "-o", "out", "--weights", "best"], "kept no best weights"),
        (["photos/images", "-o", "out", "--resume", "--force"], "not allowed with"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(recoseg, run, photos, tmp_path, words, message) -> None:
    before = results(tmp_path)
    outcome = recoseg("predict", "run", *words)
    assert outcome.code in (1, 2)
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
    assert results(tmp_path) == before


def test_a_folder_that_must_not_be_written_is_named(recoseg, run, photos, monkeypatch) -> None:
    def refuse(self, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr("pathlib.Path.mkdir", refuse)
    outcome = recoseg("predict", "run", "photos/images", "-o", "out")
    assert (outcome.code, outcome.err) == (1, "recoseg: out: Permission denied\n")


def test_a_run_without_weights_says_so(recoseg, run, photos) -> None:
    (run / "weights.safetensors").unlink()
    outcome = recoseg("predict", "run", "photos/images", "-o", "out")
    assert (outcome.code, "has no weights yet" in outcome.err) == (1, True)


def test_a_copied_run_predicts_without_its_data(recoseg, photos, tmp_path, small) -> None:
    trained = recoseg("train", "--out", "run", "--data", "photos", *small[4:])
    assert trained.code == 0, trained.err
    shutil.move(tmp_path / "photos" / "images", tmp_path / "elsewhere")
    shutil.rmtree(tmp_path / "photos")
    shutil.move(tmp_path / "run", tmp_path / "copied")
    outcome = recoseg("predict", "copied", "elsewhere", "-o", "out")
    assert outcome.code == 0, outcome.err
    assert "8 images labelled" in outcome.out


def test_a_network_of_transformers_predicts(recoseg, photos, segformer) -> None:
    trained = recoseg(
        "train", "--out", "run", "--model=transformers", "--model.checkpoint=segformer", "--data.height=40",
        "--data.width=44", "--data.num-train=4", "--data.num-val=2", "--augment.crop=36",
        "--train.iterations=1", "--train.labelled-per-step=2",
    )  # fmt: skip
    assert trained.code == 0, trained.err
    outcome = recoseg("predict", "run", "photos/images", "-o", "out")
    assert outcome.code == 0, outcome.err


def test_every_line_of_the_guide_runs(recoseg, tiny, photos, repository, tmp_path) -> None:
    guide = (repository / "docs" / "predicting.md").read_text(encoding="utf-8")
    assert recoseg("train", "--out", "runs/leaves", *tiny).code == 0
    shutil.copytree(photos / "images", tmp_path / "holiday")
    shutil.rmtree(photos)
    (tmp_path / "holiday").rename(photos)
    Image.new("RGB", (40, 30)).save(photos / "a.jpg")
    Image.new("RGB", (40, 30)).save(photos / "b.png")
    commands = [
        shlex.split(line)
        for block in re.findall(r"^```bash\n(.*?)^```", guide, flags=re.S | re.M)
        for line in block.splitlines()
    ]
    assert len(commands) >= 3
    for name, *words in commands:
        assert name == "recoseg"
        outcome = recoseg(*words)
        assert outcome.code == 0, outcome.err
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", guide, flags=re.S | re.M))
    exec(compile(code, "predicting.md", "exec"), {})
    assert Image.open(tmp_path / "overlay.png").size == (40, 30)
    options = set(re.findall(r"^\| `(--[\w-]+)", guide, flags=re.M))
    assert options == set(re.findall(r"(--[\w-]+)", recoseg("predict", "--help").out)) - {"--help", "--out"}


@pytest.fixture
def clicked(tmp_path, monkeypatch) -> Path:
    """A folder of six images, green on the left and blue on the right; four have a click on each."""
    torch.manual_seed(0)
    encoder = ENCODERS["resnet10_small"](output_stride=16)
    monkeypatch.setattr("recoseg.label.folder_predictor.pretrained_encoder", lambda: ("random", encoder))
    random = np.random.default_rng(0)
    for number in range(6):
        pixels = random.integers(0, 40, (64, 96, 3))
        pixels[:, :48, 1] += 160
        pixels[:, 48:, 2] += 160
        path = tmp_path / "clicked" / "images" / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.astype(np.uint8)).save(path)
    folder = LabelFolder(tmp_path / "clicked")
    folder.add_classes(["green", "blue"])
    marks = [
        {
            "id": f"{key}{one}",
            "type": "mark",
            "image": str(key),
            "class": one,
            "shape": "points",
            "at": [[x, 30]],
        }
        for key in range(4)
        for one, x in ((0, 10), (1, 85))
    ]
    folder.do("one", marks)
    folder.close()  # it writes the labels
    return tmp_path / "clicked"


def test_clicks_label_new_images_without_a_training(recoseg, clicked, tmp_path) -> None:
    (tmp_path / "new").mkdir()
    shutil.copy(clicked / "images" / "5.png", tmp_path / "new" / "5.png")
    words = ("--confidence", "--probabilities")
    outcome = recoseg("predict", "clicked", "new", "-o", "out", *words)
    assert outcome.code == 0, outcome.err
    labels = np.asarray(Image.open(tmp_path / "out" / "labels" / "5.png"))
    assert labels.shape == (64, 96)
    assert (labels[:, :40] == 0).mean() > 0.95
    assert (labels[:, 56:] == 1).mean() > 0.95
    confidence = np.asarray(Image.open(tmp_path / "out" / "confidence" / "5.png")) / 65535
    assert 0.5 < confidence.max() < 0.9  # after eight clicks in four images
    probabilities = np.load(tmp_path / "out" / "probabilities" / "5.npy")
    np.testing.assert_array_equal(probabilities.argmax(0), labels)
    plain = recoseg("predict", "clicked", "new", "-o", "plain", "--no-overlay")
    assert plain.code == 0, plain.err
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "plain" / "labels" / "5.png")), labels)


def test_settings_of_networks_are_refused_for_clicks(recoseg, clicked) -> None:
    outcome = recoseg("predict", "clicked", "clicked/images/0.png", "-o", "out", "--window", "512")
    assert outcome.code == 1
    assert "--window has no effect" in outcome.err
    (clicked / "labels" / "0.png").unlink()
    for number in range(1, 4):
        (clicked / "labels" / f"{number}.png").unlink()
    assert recoseg("predict", "clicked", "clicked/images/0.png", "-o", "out").code == 1
