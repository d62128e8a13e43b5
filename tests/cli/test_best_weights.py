"""The best weights besides the last: chosen on what was asked for, and named so everywhere."""

from __future__ import annotations

import json

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file

from recoseg.batches import Crops
from recoseg.config import load
from recoseg.data.build import build_dataset
from recoseg.evaluate.loop import evaluate
from recoseg.evaluate.scores import Scores
from recoseg.models.build import build_model
from recoseg.training import validation

LONGER = ["--train.iterations=6", "--train.evaluate-every=1", "--optimiser.lr=0.1"]


def header(path) -> dict:
    with safe_open(path, framework="pt") as file:
        return json.loads(file.metadata()["recoseg"])


def best_of(metrics) -> dict:
    """The first of those that score best: a later one must be better to take its place."""
    return max(metrics, key=lambda line: line["selection"]["mean_iou"])


@pytest.mark.parametrize("on", ["val", "labelled"])
def test_the_best_weights_are_those_of_the_best_line(recoseg, tmp_path, small, lines, on) -> None:
    outcome = recoseg("train", "--out", "run", *small, *LONGER, f"--train.best-on={on}")
    assert outcome.code == 0, outcome.err
    metrics = lines(tmp_path / "run" / "metrics.jsonl")
    best = best_of(metrics)
    name = {"val": "the validation images", "labelled": "labelled images held back from training (1)"}[on]
    about = header(tmp_path / "run" / "best.safetensors")
    assert about["iteration"] == best["iteration"]
    assert about["best_on"] == name
    assert "best_on" not in header(tmp_path / "run" / "weights.safetensors")
    assert header(tmp_path / "run" / "weights.safetensors")["iteration"] == 6
    assert {line["selection"]["on"] for line in metrics} == {name}
    assert f"{best['selection']['mean_iou']:.1%} on {name}" in outcome.out
    if on == "val":
        assert all(line["selection"]["mean_iou"] == line["mean_iou"] for line in metrics)

    # They are the weights of that iteration: they score what its line says.
    config = load(tmp_path / "run" / "config.yaml")
    dataset = build_dataset(config.data)
    model = build_model(config.model, len(dataset.classes), seed=1)
    model.load_state_dict(load_file(tmp_path / "run" / "best.safetensors"))
    scores = evaluate(model, dataset, dataset.keys("val"), device=torch.device("cpu"))
    assert scores.confusion.tolist() == best["confusion"]


@pytest.mark.parametrize("partial", [False, True], ids=["whole labels", "partial labels"])
def test_held_back_images_are_never_trained_on(
    recoseg, tmp_path, small, classmix_and_contrast, monkeypatch, partial
) -> None:
    seen = {"labelled": set(), "unlabelled": set()}
    original = Crops.crop_at

    def crop_at(self, position):
        crop = original(self, position)
        seen[self.purpose].add(crop[-1])
        return crop

    monkeypatch.setattr(Crops, "crop_at", crop_at)
    settings = [*small, *classmix_and_contrast, "--train.best-on=labelled", "--train.best-share=0.4"]
    if partial:
        settings = [*(word for word in settings if not word.startswith("--split.")), "--split.pixels=1"]
    assert recoseg("train", "--out", "run", *settings, "--train.iterations=8").code == 0
    split = json.loads((tmp_path / "run" / "split.json").read_text())
    held = set(split["labelled"]) - seen["labelled"]
    assert len(held) == (3 if partial else 1)
    assert not held & seen["unlabelled"]
    assert seen["unlabelled"] == (seen["labelled"] if partial else set(split["unlabelled"]))


def test_a_score_that_is_not_a_number_is_never_the_best(recoseg, tmp_path, small, lines, monkeypatch) -> None:
    original, calls = validation.evaluate, []

    def evaluate_with_gaps(model, dataset, keys, *, device):
        calls.append(keys)
        scores = original(model, dataset, keys, device=device)
        return Scores(torch.zeros_like(scores.confusion)) if len(calls) in (1, 3) else scores

    monkeypatch.setattr(validation, "evaluate", evaluate_with_gaps)
    outcome = recoseg("train", "--out", "run", *small, *LONGER, "--train.best-on=val")
    assert outcome.code == 0, outcome.err
    metrics = lines(tmp_path / "run" / "metrics.jsonl")
    chosen = [line["selection"]["mean_iou"] for line in metrics]
    assert [score is None for score in chosen] == [True, False, True, False, False, False]
    scored = [line for line in metrics if line["selection"]["mean_iou"] is not None]
    assert header(tmp_path / "run" / "best.safetensors")["iteration"] == best_of(scored)["iteration"]
    status = recoseg("status", "run")
    assert f"{best_of(scored)['selection']['mean_iou']:.1%}" in status.out


def test_of_equally_good_weights_the_first_are_kept(recoseg, tmp_path, small, monkeypatch) -> None:
    original = validation.evaluate

    def always_alike(model, dataset, keys, *, device):
        return Scores(torch.ones_like(original(model, dataset, keys, device=device).confusion))

    monkeypatch.setattr(validation, "evaluate", always_alike)
    assert recoseg("train", "--out", "run", *small, *LONGER, "--train.best-on=labelled").code == 0
    assert header(tmp_path / "run" / "best.safetensors")["iteration"] == 1


def test_without_a_choice_no_best_weights_are_kept(recoseg, tmp_path, small, lines) -> None:
    assert recoseg("train", "--out", "run", *small).code == 0
    assert not (tmp_path / "run" / "best.safetensors").exists()
    assert all("selection" not in line for line in lines(tmp_path / "run" / "metrics.jsonl"))


@pytest.mark.parametrize("more", [[], ["--train.best-on=val"]])
def test_a_share_without_effect_is_an_error(recoseg, small, more) -> None:
    outcome = recoseg("train", "--out", "run", *small, "--train.best-share=0.5", *more)
    assert outcome.code in (1, 2)
    assert "train.best_share has no effect without train.best_on labelled" in outcome.err


def test_one_labelled_image_cannot_be_held_back(recoseg, small) -> None:
    outcome = recoseg("train", "--out", "run", *small, "--split.labels=1", "--train.best-on=labelled")
    assert outcome.code in (1, 2)
    assert "needs at least 2 labelled images" in outcome.err
