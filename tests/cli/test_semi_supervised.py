"""Every method through the command line, alone and with the contrast on top."""

from __future__ import annotations

import json

import pytest
from PIL import Image

from recoseg.methods import METHODS as ALL_METHODS

DIVIDED = "--model.factory=small_network:divided"
QUICK = ["--train.iterations=2", "--train.evaluate-every=2"]
CONTRAST = [
    "--contrast.num-queries=8", "--contrast.num-keys=16", "--contrast.feature-channels=8",
    "--contrast.trust-above=0.05",
]  # fmt: skip
MEAN_TEACHER = ["supervised", "unsupervised"]
LARGER = ["--data.height=96", "--data.width=96", "--augment.crop=96"]

METHODS = {
    "supervised": (["--method=supervised"], ["supervised"]),
    "averaged": (["--method=supervised", "--method.average=0.99"], ["supervised"]),
    "plain": (["--method=mean_teacher", "--method.mix=none"], MEAN_TEACHER),
    "cutout": (["--method=mean_teacher", "--method.mix=cutout"], MEAN_TEACHER),
    "cutmix": (["--method=mean_teacher", "--method.mix=cutmix"], MEAN_TEACHER),
    "classmix": (["--method=mean_teacher", "--method.mix=classmix"], MEAN_TEACHER),
    "by batch": (["--method=mean_teacher", "--method.teacher-norm=batch"], MEAN_TEACHER),
    "together": (["--method=mean_teacher", "--method.student-pass=together"], MEAN_TEACHER),
    "soft": (
        ["--method=mean_teacher", "--method.mix=none", "--method.consistency=probabilities"],
        MEAN_TEACHER,
    ),
    "vat": (["--method=vat"], MEAN_TEACHER),
    "cct": (["--method=cct"], MEAN_TEACHER),
    "advsemseg": (
        ["--method=advsemseg"],
        ["supervised", "adversarial", "unlabelled_adversarial", "self_training", "discriminator"],
    ),
    "gct": (
        ["--method=gct", *LARGER],
        ["supervised", "second_supervised", "consistency", "correction", "detector"],
    ),
    "pseudoseg": (
        ["--method=pseudoseg", DIVIDED],
        ["supervised", "attention", "classification", "consistency"],
    ),
    "dmt": (["--method=dmt"], ["supervised", "unsupervised", "second"]),
    "fixmatch": (["--method=fixmatch"], ["supervised", "strong"]),
    "unimatch": (["--method=unimatch", DIVIDED], ["supervised", "strong", "features"]),
    "unimatch_v2": (["--method=unimatch_v2", DIVIDED], ["supervised", "strong"]),
    "prevmatch": (["--method=prevmatch", DIVIDED], ["supervised", "strong", "features", "previous"]),
    "s4gan": (["--method=s4gan"], ["supervised", "matching", "self_training", "discriminator"]),
}
STATS = {"contrast_accuracy", "contrast_chance_level", "contrast_active_classes", "contrast_hard_share"}


@pytest.mark.usefixtures("light_detector")
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


@pytest.mark.parametrize("method", ["supervised", "classmix", "soft", "vat", "cct", "fixmatch", "prevmatch"])
def test_a_few_labelled_pixels_of_each_image_are_enough(recoseg, tmp_path, small, lines, method) -> None:
    settings = [word for word in small if not word.startswith("--split.")]
    more = [*METHODS[method][0], *CONTRAST, "--split.pixels=1"]
    outcome = recoseg("train", "--out", "run", *settings, *QUICK, *more)
    assert outcome.code == 0, outcome.err
    assert json.loads((tmp_path / "run" / "split.json").read_text())["pixels"] == "1"
    assert lines(tmp_path / "run" / "losses.jsonl")[-1]["supervised"] > 0


def test_a_fitted_threshold_is_logged(recoseg, tmp_path, small, lines) -> None:
    words = ["--method=fixmatch", "--method.threshold=daw", *QUICK]
    assert recoseg("train", "--out", "run", *small, *words).code == 0
    for line in lines(tmp_path / "run" / "losses.jsonl"):
        assert 0 < line["stats"]["threshold"] <= 1


@pytest.mark.usefixtures("light_detector")
@pytest.mark.parametrize("method", sorted(ALL_METHODS))
def test_every_method_trains_where_heads_learn_faster_than_the_encoder(
    recoseg, small_deeplab, method
) -> None:
    more = [f"--method={method}", "--optimiser.head-lr-factor=5", "--train.iterations=1"]
    outcome = recoseg("train", "--out", "run", "--no-page", *small_deeplab, *more, "--augment.crop=96")
    assert outcome.code == 0, outcome.err


@pytest.mark.parametrize("method", ["s4gan", "advsemseg", "gct", "ecs"])
def test_a_method_that_needs_whole_labels_says_so(recoseg, tmp_path, small_deeplab, method) -> None:
    settings = [word for word in small_deeplab if not word.startswith("--split.")]
    outcome = recoseg("train", "--out", "run", *settings, f"--method={method}", "--split.pixels=1")
    assert (outcome.code in (1, 2), outcome.err.count("\n")) == (True, 1)
    assert f"{method} needs fully labelled images" in outcome.err
    assert not (tmp_path / "run").exists()


def test_aligned_labels_of_single_pixels_are_refused_before_a_run_begins(recoseg, tmp_path, small) -> None:
    settings = [word for word in small if not word.startswith("--split.")]
    words = ["--method=mean_teacher", "--method.align=true", "--split.pixels=1"]
    outcome = recoseg("train", "--out", "run", *settings, *words)
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert "method.align needs fully labelled images" in outcome.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("method", "crop", "least"), [("advsemseg", 31, 32), ("gct", 91, 92)])
def test_crops_that_a_discriminator_cannot_see_are_refused_before_a_run_begins(
    recoseg, tmp_path, small_deeplab, method, crop, least
) -> None:
    words = [f"--method={method}", f"--augment.crop={crop}"]
    outcome = recoseg("train", "--out", "run", *small_deeplab, *words)
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert f"{method} needs images of at least {least}x{least} pixels, got {crop}x{crop}" in outcome.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--method=prevmatch", "--method.store_every=5"], "prevmatch would be unimatch"),
        (
            ["--method=advsemseg", "--method.self_start=5"],
            "self-training would begin after 5 of 5 iterations",
        ),
    ],
)
def test_a_part_that_would_never_begin_is_refused(recoseg, tmp_path, small_deeplab, words, says) -> None:
    outcome = recoseg("train", "--out", "run", *small_deeplab, *words, "--train.iterations=5")
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert says in outcome.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("names", [["background", "leaf", "stem"], ["soil", "leaf", "stem"]])
def test_cct_says_which_decoders_a_dataset_without_background_has_to_do_without(
    recoseg, photos, small, names
) -> None:
    (photos / "classes.json").write_text(json.dumps({"names": names}))
    settings = [word for word in small if not word.startswith("--data.")]
    outcome = recoseg("train", "--data", photos, "--out", "run", *settings, *QUICK, "--method=cct")
    assert outcome.code == 0, outcome.err
    note = "note:    cct leaves out context_masking, guided_cutout, object_masking, which look at objects"
    assert outcome.out.count(note) == (names[0] != "background")


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
    assert (outcome.code in (1, 2), outcome.err.count("\n")) == (True, 1)
    assert "method mean_teacher learns from unlabelled images too, and this split has none" in outcome.err
    assert "Add images without masks to images/, leave some labels unseen" in outcome.err
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
        (
            ["--method.mix=classmxi"],
            "unknown value 'classmxi'; did you mean --method.mix classmix?",
        ),
        (
            ["--method=mean_teaher"],
            "unknown name 'mean_teaher'; did you mean --method mean_teacher?",
        ),
        (["--contrast=rec"], "--contrast: unknown name 'rec'; did you mean --contrast reco?"),
        (["--train.unlabelled-per-step=2"], "train.unlabelled_per_step has no effect with method supervised"),
        (
            ["--method=supervised", "--method.mix=cutmix"],
            "--method.mix: unknown setting of method supervised",
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
        (
            ["--method=mean_teacher", "--method.consistency=probabilities"],
            "method.mix classmix moves labels, and method.consistency probabilities compares cells at the "
            "same place: add method.mix none, or take method.consistency labels",
        ),
        (
            ["--method=fixmatch", "--train.accumulate=2"],
            "method fixmatch joins two unlabelled images, and every process and part of a step has one "
            "alone: raise train.unlabelled_per_step from 2 to 4, or set method.cutmix to 0",
        ),
        (["--method=advsemseg", "--method.self-above=2"], "method.self_above: must be at most 1, got 2"),
        (["--method=gct", "--method.bad-above=-1"], "method.bad_above: must be at least 0, got -1"),
        (["--method=fixmatch", "--method.pixel-above=1.5"], "method.pixel_above: must be at most 1, got 1.5"),
        (["--method=unimatch", "--method.drop=1"], "method.drop: must be at most 0.99, got 1"),
        (["--method=unimatch"], "Sequential has no part named base_model, backbone or encoder"),
        (["--train.accumulate=3"], "train.labelled_per_step 2 cannot be shared equally by 1 process"),
    ],
)
def test_a_setting_that_makes_no_sense_is_a_clear_line(recoseg, tmp_path, small, words, message) -> None:
    outcome = recoseg("train", "--out", "run", *small, *words)
    assert (outcome.code in (1, 2), outcome.err.count("\n")) == (True, 1)
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


@pytest.mark.parametrize("contrast", [False, True], ids=["alone", "with contrast"])
@pytest.mark.parametrize("model", ["deeplab_v2", "deeplab_v3_plus"])
def test_a_corrector_is_a_second_deeplab(recoseg, tmp_path, small_deeplab, lines, model, contrast) -> None:
    settings = [word for word in small_deeplab if model == "deeplab_v3_plus" or "decoder" not in word]
    settings += [*QUICK, f"--model={model}", "--method=ecs", *(CONTRAST if contrast else [])]
    outcome = recoseg("train", "--out", "run", *settings)
    assert outcome.code == 0, outcome.err
    parts = [
        "supervised",
        "correction",
        "approval",
        "corrector",
        *(["contrast", "stats"] if contrast else []),
    ]
    for line in lines(tmp_path / "run" / "losses.jsonl"):
        assert list(line) == ["iteration", "lr", "loss", *parts]
    # a weights file made for these classes serves the corrector too, which has one output more
    weights = ["--model.weights=run/weights.safetensors", "--no-page"]
    outcome = recoseg("train", "--out", "more", *settings, *weights)
    assert outcome.code == 0, outcome.err


def test_a_network_that_has_no_room_for_predictions_is_a_clear_line(recoseg, tmp_path, small) -> None:
    outcome = recoseg("train", "--out", "run", *small, "--method=ecs")
    assert (outcome.code in (1, 2), outcome.err.count("\n")) == (True, 1)
    assert "ecs needs a network that can be widened to read predictions" in outcome.err
    assert "set model to deeplab_v3_plus or deeplab_v2, or take another method" in outcome.err
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("light_detector")
def test_two_students_that_start_alike_are_a_clear_line(recoseg, tmp_path, small) -> None:
    assert recoseg("train", "--out", "first", *small, *QUICK, "--no-page").code == 0
    weights = ["--model.weights=first/weights.safetensors", *LARGER]
    outcome = recoseg("train", "--out", "run", *small, "--method=gct", *weights)
    assert (outcome.code in (1, 2), outcome.err.count("\n")) == (True, 1)
    assert "gct needs two networks that start differently, and these start alike: leave out" in outcome.err
    assert not (tmp_path / "run").exists()
