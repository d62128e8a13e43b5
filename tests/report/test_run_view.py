from __future__ import annotations

import json
import math

import pytest
import torch
from torch import nn

from recoseg.errors import UserError
from recoseg.evaluate.scores import Scores
from recoseg.evaluate.survey import Survey
from recoseg.report.run_view import predict_surely, spread, view_run
from recoseg.splits.label_split import LabelSplit
from recoseg.training.run_folder import RunFolder, append_line
from recoseg.types import ClassInfo, ModelOutput

CLASSES = ClassInfo(("road",), ((1, 2, 3),))
METRICS = {
    "mean_iou": 0.5, "accuracy": 0.5, "iou": [0.5], "class_accuracy": [0.5], "confusion": [[1]], "losses": {},
}  # fmt: skip
LOSSES = {"lr": 0.1, "loss": 1.0, "seconds": 2.0}


@pytest.fixture
def folder(tmp_path):
    split = LabelSplit(("a", "b"), ("c", "d", "e"), dataset="scenes", fingerprint="f", builder="few_images")
    return RunFolder.create(tmp_path / "run", config_yaml="lr: 0.1\n", split=split)


def view(folder, **more):
    about = {"method": "supervised", "network": "deeplab_v3_plus", "command": "recoseg train"}
    return view_run(folder, name="mine", classes=CLASSES, pictures=(), settings={}, **about, **more)


def test_a_run_that_has_just_begun_has_no_scores(folder):
    run = view(folder)
    assert (run.num_labelled, run.num_unlabelled, run.config_yaml) == (2, 3, "lr: 0.1\n")
    assert (run.metrics, run.losses, run.scores, run.iterations) == ([], [], None, 0)


def test_the_scores_are_those_of_the_last_evaluation(folder):
    append_line(folder.metrics, {"iteration": 10, **METRICS})
    append_line(folder.metrics, {"iteration": 20, **METRICS, "mean_iou": 0.25})
    append_line(folder.losses, {"iteration": 25, **LOSSES})
    run = view(folder)
    assert run.scores == {"iteration": 20, **METRICS, "mean_iou": 0.25}
    assert run.iterations == 25


def test_a_log_of_other_classes_is_a_clear_error(folder):
    two = {"iou": [0.5, 0.5], "class_accuracy": [0.5, 0.5], "confusion": [[1, 1], [1, 1]]}
    append_line(folder.metrics, {"iteration": 10, **METRICS, **two})
    with pytest.raises(UserError, match=r"metrics\.jsonl: has scores of 2 classes, and the data has 1"):
        view(folder)


def test_the_scores_of_the_weights_count_more_than_the_log(folder):
    append_line(folder.metrics, {"iteration": 10, **METRICS})
    run = view(folder, survey=Survey(Scores(torch.tensor([[3]])), {}, 1))
    assert run.scores["mean_iou"] == 1
    assert run.class_scores("boundary_iou") is None
    assert run.class_score("iou", 0) == 1
    assert run.class_score("boundary_iou", 0) is None


def test_a_line_that_a_crash_cut_short_is_passed_over(folder):
    folder.losses.write_text(json.dumps({"iteration": 5, **LOSSES}) + '\n{"iteration": 1')
    assert view(folder).losses == [{"iteration": 5, **LOSSES}]


def test_a_run_without_a_split_is_a_clear_error(folder):
    folder.split.unlink()
    with pytest.raises(UserError, match=r"no split file at .*split\.json"):
        view(folder)


class Reddish(nn.Module):
    """Says class 1 with odds of 3 where there is red, else class 0 with odds of 1."""

    def forward(self, images):
        red = images[:, 0]
        odds = red * math.log(3) - (red == 0) * 1e-3
        return ModelOutput(torch.stack([torch.full_like(red, 5), 5 + odds], dim=1))


def test_confidence_is_the_probability_of_the_predicted_class():
    image = torch.zeros(3, 40, 50, dtype=torch.uint8)
    image[0, :, 25:] = 255
    predicted, confidence = predict_surely(Reddish(), image, torch.device("cpu"), 2)
    assert predicted.dtype == confidence.dtype == torch.uint8
    assert (predicted[:, 25:] == 1).all()
    assert (confidence[:, 25:] == round(255 * 3 / 4)).all()
    assert (predicted[:, :25] == 0).all()
    assert (confidence[:, :25] == 128).all()  # 255 / 2, a little above


def test_an_image_of_one_pixel_has_a_picture():
    predicted, confidence = predict_surely(
        Reddish(), torch.full((3, 1, 1), 255, dtype=torch.uint8), torch.device("cpu"), 2
    )
    assert (predicted.tolist(), confidence.tolist()) == ([[1]], [[191]])


def test_pictures_are_spread_over_all_images():
    assert spread(list("abcdefgh"), 4) == list("aceg")
    assert spread(list("ab"), 4) == list("ab")
    assert spread(list("ab"), 0) == []
