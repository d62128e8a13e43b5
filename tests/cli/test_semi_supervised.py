"""Every method through the command line, alone and with the contrast on top."""

from __future__ import annotations

import json

import pytest
from PIL import Image

QUICK = ["--train.iterations=2", "--train.evaluate-every=2"]
CONTRAST = [
    "--contrast.num-queries=8", "--contrast.num-keys=16", "--contrast.feature-channels=8",
    "--contrast.trust-above=0.05",
]  # fmt: skip
MEAN_TEACHER = ["supervised", "unsupervised"]
METHODS = {
    "supervised": (["--method=supervised"], ["supervised"]),
    "averaged": (["--method=supervised", "--method.average=0.99"], ["supervised"]),
    "plain": (["--method=mean_teacher", "--method.mix=none"], MEAN_TEACHER),
    "cutout": (["--method=mean_teacher", "--method.mix=cutout"], MEAN_TEACHER),
    "cutmix": (["--method=mean_teacher", "--method.mix=cutmix"], MEAN_TEACHER),
    "classmix": (["--method=mean_teacher", "--method.mix=classmix"], MEAN_TEACHER),
    "by batch": (["--method=mean_teacher", "--method.teacher-norm=batch"], MEAN_TEACHER),
    "together": (["--method=mean_teacher", "--method.student-pass=together"], MEAN_TEACHER),
    "pseudoseg": (
        ["--method=pseudoseg", "--model.factory=small_network:divided"],
        ["supervised", "attention", "classification", "consistency"],
    ),
    "dmt": (["--method=dmt"], ["supervised", "unsupervised", "second"]),
    "s4gan": (["--method=s4gan"], ["supervised", "matching", "self_training", "discriminator"]),
}
STATS = {"contrast_accuracy", "contrast_chance_level", "contrast_active_classes", "contrast_hard_share"}


@pytest.mark.parametrize("contrast", [False, True], ids=["alone", "with contrast"])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_and_logs_its_parts(recoseg, tmp_path, small, lines, method, contrast) -> None:
    settings, parts = METHODS[method]
    outcome = recoseg("train", "--out", "run", *small, *QUICK, *settings, *(CONTRAST if contrast else []))
    assert outcome.code == 0, outcome.err
    assert ("+ regional contrast" in outcome.out) == contrast
    expected = ["iteration", "lr", "loss", *parts, *(["contrast", "stats"] if contrast else [])]
    for line in lines(tmp_path / "run" / "losses.jsonl"):
        assert list(line) == expected
        assert set(line.get("stats", {})) == (STATS if contrast else set())
    losses = lines(tmp_path / "run" / "metrics.jsonl")[-1]["losses"]
    assert set(losses) == {"loss", *parts} | ({"contrast"} if contrast else set())
    assert (tmp_path / "run" / "weights.safetensors").is_file()


@pytest.mark.parametrize("method", ["supervised", "classmix"])
def test_a_few_labelled_pixels_of_each_image_are_enough(recoseg, tmp_path, small, lines, method) -> None:
    settings = [word for word in small if not word.startswith("--split.")]
    more = [*METHODS[method][0], *CONTRAST, "--split.pixels=1"]
    outcome = recoseg("train", "--out", "run", *settings, *QUICK, *more)
    assert outcome.code == 0, outcome.err
    assert json.loads((tmp_path / "run" / "split.json").read_text())["pixels"] == "1"
    assert lines(tmp_path / "run" / "losses.jsonl")[-1]["supervised"] > 0


def test_a_method_that_needs_whole_labels_says_so(recoseg, small) -> None:
    settings = [word for word in small if not word.startswith("--split.")]
    outcome = recoseg("train", "--out", "run", *settings, "--method=s4gan", "--split.pixels=1")
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert "s4gan needs fully labelled images" in outcome.err


def test_equal_runs_are_equal_and_loading_processes_change_nothing(
    recoseg, tmp_path, small, classmix_and_contrast, require_same_end
) -> None:
    settings = [*small, *classmix_and_contrast]
    for name, more in (("a", []), ("b", []), ("c", ["--train.workers=2", "--train.cache-gb=0"])):
        assert recoseg("train", "--out", name, *settings, *more).code == 0
    require_same_end(tmp_path / "a", tmp_path / "b")
    require_same_end(tmp_path / "a", tmp_path / "c")
    assert recoseg("train", "--out", "d", *settings, "--train.seed=1").code == 0
    texts = [(tmp_path / name / "metrics.jsonl").read_text() for name in "ad"]
    assert texts[0] != texts[1]


def test_a_real_network_trains_with_classmix_and_contrast(
    recoseg, tmp_path, tiny, classmix_and_contrast, lines
) -> None:
    settings = [*tiny, *classmix_and_contrast, "--split.labels=2", *QUICK]
    assert recoseg("train", "--out", "run", *settings).code == 0
    last = lines(tmp_path / "run" / "losses.jsonl")[-1]
    assert last["unsupervised"] > 0
    assert last["contrast"] > 0
    total = last["supervised"] + last["unsupervised"] + last["contrast"]
    assert last["loss"] == pytest.approx(total, rel=1e-5)


def test_unlabelled_images_join_after_the_supervised_start_and_by_the_ramp(
    recoseg, tmp_path, small, lines
) -> None:
    method = ["--method=mean_teacher", "--method.trust-above=0", "--method.supervised-start=2"]
    outcome = recoseg("train", "--out", "run", *small, *method, "--method.ramp=3", "--method.decay=0.99")
    assert outcome.code == 0, outcome.err
    losses = lines(tmp_path / "run" / "losses.jsonl")
    assert ["unsupervised" in line for line in losses] == [False, False, True, True]
    for line, weight in zip(losses[2:], (1 / 4, 2 / 4), strict=True):
        assert line["loss"] == pytest.approx(line["supervised"] + weight * line["unsupervised"], rel=1e-5)
    # Until then the run is a supervised one, step by step: methods can be compared on equal terms.
    assert recoseg("train", "--out", "plain", *small, "--method.average=0.99").code == 0
    plain = lines(tmp_path / "plain" / "losses.jsonl")
    assert [line["loss"] for line in plain[:2]] == [line["loss"] for line in losses[:2]]
    first = [lines(tmp_path / run / "metrics.jsonl")[0] for run in ("run", "plain")]
    assert first[0]["confusion"] == first[1]["confusion"]


def test_no_unlabelled_images_is_a_clear_line(recoseg, tmp_path, small) -> None:
    settings = [word for word in small if not word.startswith("--split.")]
    outcome = recoseg("train", "--out", "run", *settings, "--method=mean_teacher")
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert "method mean_teacher learns from unlabelled images too, and this split has none" in outcome.err
    assert "Use fewer labels (split.labels 20), or method supervised" in outcome.err
    assert not (tmp_path / "run").exists()


def test_fewer_images_than_a_step_takes_is_noted(recoseg, small) -> None:
    more = ["--train.labelled-per-step=4", "--train.unlabelled-per-step=6", "--method=mean_teacher", *QUICK]
    outcome = recoseg("train", "--out", "run", *small, *more)
    assert outcome.code == 0, outcome.err
    assert "note:    a step takes 4 labelled images and there are 3:" in outcome.out
    assert "note:    a step takes 6 unlabelled images and there are 5:" in outcome.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--method.mix=classmxi"], "method.mix: unknown value 'classmxi'; did you mean 'classmix'?"),
        (["--method=mean_teaher"], "method.name: unknown name 'mean_teaher'; did you mean 'mean_teacher'?"),
        (["--contrast=rec"], "contrast.name: unknown value 'rec'; did you mean 'reco'?"),
        (["--train.unlabelled-per-step=2"], "train.unlabelled_per_step has no effect with method supervised"),
        (
            ["--method=supervised", "--method.mix=cutmix"],
            "unknown setting 'method.mix' of method 'supervised'",
        ),
        (["--method=mean_teacher", "--method.decay=1"], "method.decay: must be at most 0.99999, got 1"),
        (
            ["--method=mean_teacher", "--method.supervised-start=4", "--train.iterations=4"],
            "method mean_teacher would look at no unlabelled image in 4 iterations",
        ),
        (
            ["--method=mean_teacher", "--train.accumulate=2"],
            "method.mix classmix joins two unlabelled images, and every process and part of a step has one "
            "alone: raise train.unlabelled_per_step from 2 to 4, or take another mix",
        ),
        (["--train.accumulate=3"], "train.labelled_per_step 2 cannot be shared equally by 1 process"),
    ],
)
def test_a_setting_that_makes_no_sense_is_a_clear_line(recoseg, tmp_path, small, words, message) -> None:
    outcome = recoseg("train", "--out", "run", *small, *words)
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert message in outcome.err
    assert not (tmp_path / "run").exists()


def test_methods_start_equal_with_and_without_the_contrast(recoseg, tmp_path, small, lines) -> None:
    for name, more in (("plain", []), ("reco", CONTRAST)):
        outcome = recoseg("train", "--out", name, *small, *QUICK, *more, "--train.log-every=1")
        assert outcome.code == 0, outcome.err
    first = [lines(tmp_path / name / "losses.jsonl")[0] for name in ("plain", "reco")]
    assert first[0]["supervised"] == first[1]["supervised"]
    assert first[0]["loss"] < first[1]["loss"]


def test_the_contrast_can_be_taken_away_again(recoseg, small) -> None:
    outcome = recoseg("train", "--out", "run", *small, *QUICK, *CONTRAST, "--contrast=none")
    assert outcome.code == 0, outcome.err
    assert "contrast" not in outcome.out


def test_a_contrast_with_nothing_to_compare_is_noted_once(recoseg, tmp_path, photos, small, lines) -> None:
    """Labels of one class, and an untrained teacher that is never sure: no two classes to tell apart."""
    for path in (photos / "labels").glob("*.png"):
        Image.open(path).point(lambda label: 0).save(path)
    (photos / "classes.json").write_text('{"names": ["leaf", "stem"]}')
    settings = [word for word in small if not word.startswith(("--data.", "--split."))]
    method = ["--method=mean_teacher", "--contrast=reco", "--contrast.trust-above=0.99"]
    outcome = recoseg("train", "--data", photos, "--out", "run", *settings, *method)
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("the contrast is 0 in this step") == 1
    assert [line["contrast"] for line in lines(tmp_path / "run" / "losses.jsonl")] == [0, 0, 0, 0]
