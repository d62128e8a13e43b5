"""What `recoseg init` writes for a folder and a machine, and what it says where it cannot."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from PIL import Image

from recoseg.cli.arguments import open_dataset
from recoseg.config import load
from recoseg.probe import ProbeFit
from recoseg.runs import suggestion
from recoseg.runs.suggestion import (
    FolderFacts,
    MachineFacts,
    ProbeFacts,
    StepTimes,
    schedule,
    suggested_yaml,
    told,
)

MACHINE = MachineFacts(cores=2, gigabytes=8, gpu=None, has_weights=True)


def probe(*, have_no_up: bool = False, enlarge: float = 1.0) -> ProbeFacts:
    return ProbeFacts(0.5, None, num_images=3, have_no_up=have_no_up, enlarge=enlarge)


def facts(
    root: Path, *, labelled: int = 10, unlabelled: int = 40, names=("background", "crack")
) -> FolderFacts:
    shares = dict(zip(names, (0.967, 0.033), strict=True))
    return FolderFacts(root, labelled, unlabelled, num_val=3, size=(240, 320), shares=shares)


def written(tmp_path: Path, of: FolderFacts, times: StepTimes, *, minutes: float | None = None):
    """The config that is written, read back."""
    path = tmp_path / "written.yaml"
    path.write_text(suggested_yaml(of, MACHINE, schedule(times, minutes=minutes)), encoding="utf-8")
    return load(path)


def test_classes_are_weighted_however_rare_they_are(tmp_path) -> None:
    of = facts(tmp_path)
    assert "crack has 3.30 %" in suggested_yaml(of, MACHINE, schedule(StepTimes(1, 1)))
    assert written(tmp_path, of, StepTimes(1, 1)).train.class_weights == "root"


@pytest.mark.parametrize(
    ("times", "minutes", "iterations", "every"),
    [
        (StepTimes(1, 0), None, 1000, 100),
        (StepTimes(1, 0), 15, 900, 90),
        (StepTimes(1, 30), 15, 780, 260),  # 3 evaluations are a tenth of it, and one of the start
    ],
)
def test_minutes_are_filled_with_steps_and_evaluations(tmp_path, times, minutes, iterations, every) -> None:
    config = written(tmp_path, facts(tmp_path), times, minutes=minutes)
    assert (config.method.name, config.train.iterations) == ("mean_teacher", iterations)
    assert config.train.evaluate_every == every
    assert config.train.channels_last
    assert config.contrast is not None
    assert (config.model.start, config.contrast.weight) == ("probe", 0.1)
    assert (config.optimiser.warm_up, config.augment.same_scale) == (iterations // 20, True)
    assert config.method.warm_up == "none"
    assert config.method.decay == pytest.approx(1 - 1.2 / iterations)


def test_without_pretrained_weights_there_is_nothing_to_be_gentle_with(tmp_path) -> None:
    machine = MachineFacts(cores=2, gigabytes=8, gpu=None, has_weights=False)
    path = tmp_path / "config.yaml"
    path.write_text(suggested_yaml(facts(tmp_path), machine, schedule(StepTimes(1, 0))), encoding="utf-8")
    config = load(path)
    assert (config.model.start, config.model.frozen_batch_norm) == ("random", "none")
    assert config.contrast is not None
    assert config.contrast.weight == 1
    short = suggested_yaml(facts(tmp_path), machine, schedule(StepTimes(1, 0), minutes=8))
    path.write_text(short, encoding="utf-8")
    assert (load(path).method.name, load(path).contrast) == ("supervised", None)


def test_images_without_an_up_are_flipped_and_turned(tmp_path) -> None:
    of, run = facts(tmp_path), schedule(StepTimes(1, 0))
    for no_up in (False, True):
        path = tmp_path / "config.yaml"
        path.write_text(suggested_yaml(of, MACHINE, run, probe(have_no_up=no_up)), encoding="utf-8")
        augment = load(path).augment
        assert (augment.flip_vertical, augment.rotate) == ((0.5, 0.75) if no_up else (0, 0))


def test_fewer_unlabelled_images_than_labelled_ones_are_left_out(tmp_path) -> None:
    config = written(tmp_path, facts(tmp_path, unlabelled=9), StepTimes(1, 0))
    assert (config.method.name, config.contrast) == ("supervised", None)
    assert (config.method.average, config.method.warm_up) == (pytest.approx(1 - 1.2 / 1000), "none")


@pytest.mark.parametrize(("enlarge", "crop"), [(1.0, 224), (1.5, 176), (2.0, 128)])
def test_crops_of_enlarged_images_fill_the_same_256_pixels_of_the_encoder(tmp_path, enlarge, crop) -> None:
    path = tmp_path / "config.yaml"
    text = suggested_yaml(facts(tmp_path), MACHINE, schedule(StepTimes(1, 0)), probe(enlarge=enlarge))
    path.write_text(text, encoding="utf-8")
    config = load(path)
    assert (config.model.enlarge, config.augment.crop) == (enlarge, (crop, crop))


@pytest.mark.parametrize(
    ("folds", "enlarge"), [([0.5, 0.52, 0.6], 2.0), ([0.5, 0.52, 0.525], 1.5), ([0.5, 0.5, 0.6], 1.0)]
)
def test_images_are_enlarged_where_folds_gain(own_images, monkeypatch, folds, enlarge) -> None:
    fits = [type("Fit", (ProbeFit,), {"mean_iou": score})(0.1, None) for score in folds]
    monkeypatch.setattr(suggestion, "cross_validate", lambda *_, **__: fits.pop(0))
    dataset = open_dataset("folder", str(own_images))
    of = suggestion.look_at(dataset, own_images)
    found = suggestion.measure_probe(dataset, of, progress=None)
    assert found is not None
    assert found.enlarge == enlarge


@pytest.mark.parametrize("name", ["a\nsplit: {labels: 1}\n#", "a \"b\" 'c' \\n", "ä: # [x]", "a\x85b\u2028c"])
def test_a_name_is_never_more_than_a_value_or_a_comment(tmp_path, name) -> None:
    root = tmp_path / name
    root.mkdir()
    config = written(tmp_path, facts(root, names=(name, f"{name}2")), StepTimes(1, 0))
    assert config.data.root == str(root)
    assert config.split.labels is None


def test_a_machine_that_was_busy_before_is_told_so(tmp_path) -> None:
    of = facts(tmp_path)
    quiet, busy = (MachineFacts(2, 8, None, True, load) for load in (0.1, 1.4))
    assert not any("load" in line for line in told(of, quiet))
    assert any("load 1.4 on 2 cores" in line for line in told(of, busy))


@pytest.fixture
def own_images(photos) -> Path:
    """Photos of one size, some of them without labels."""
    for path in photos.rglob("*.*"):
        with Image.open(path) as image:
            image.resize((40, 40), Image.Resampling.NEAREST).save(path)
    return photos


def test_what_is_written_trains(recoseg, own_images) -> None:
    outcome = recoseg("init", own_images)
    assert outcome.code == 0, outcome.err
    config = load(own_images / "recoseg.yaml")
    assert config.data.root == str(own_images)
    assert config.train.iterations == 1000
    short = ["--train.iterations=2", "--train.evaluate_every=1", "--no-page"]
    assert recoseg("train", "--data", own_images, "--out", "run", *short).code == 0


def test_a_config_that_is_there_is_named_before_any_image_is_read(recoseg, own_images) -> None:
    (own_images / "recoseg.yaml").write_text("precious")
    for label in (own_images / "labels").iterdir():
        label.write_bytes(b"damaged")  # which reading would complain of
    outcome = recoseg("init", own_images)
    assert (outcome.code, "--yes" in outcome.err) == (1, True)
    assert (own_images / "recoseg.yaml").read_text() == "precious"


def test_an_image_that_cannot_be_read_is_one_line(recoseg, own_images) -> None:
    (own_images / "images" / "p7.jpg").write_bytes(b"no picture")
    outcome = recoseg("init", own_images)
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert "p7.jpg" in outcome.err


def test_a_pipe_among_the_images_is_one_line(recoseg, own_images) -> None:
    os.mkfifo(own_images / "images" / "q.png")
    outcome = recoseg("init", own_images)
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert "q.png" in outcome.err
