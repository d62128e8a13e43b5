"""Scores in a file, and back."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
import torch

from recoseg.errors import UserError
from recoseg.evaluate.boundary import BoundaryRule
from recoseg.evaluate.loop import ScoreCounter, Seen
from recoseg.evaluate.scores import Scores
from recoseg.evaluate.scores_file import SCORES, Evaluation, scores_as_plain, scores_from_plain


def counted(*, boundary: bool) -> Scores:
    generator = torch.Generator().manual_seed(0)
    predicted, labels = torch.randint(0, 3, (2, 2, 9, 9), generator=generator).to(torch.uint8)
    counter = ScoreCounter(4, boundary=BoundaryRule() if boundary else None)  # class 3 has no pixel
    counter.add(Seen(predicted, labels))
    return counter.scores()


@pytest.mark.parametrize("boundary", [False, True])
def test_a_file_reads_back_to_the_same_scores(tmp_path, boundary) -> None:
    scores = counted(boundary=boundary)
    about = {"protocol": "whole image", "num_images": 2}
    saved = Evaluation(scores=scores, class_names=("a", "b", "c", "d"), about=about)
    saved.save(tmp_path / "val.json")
    read = Evaluation.load(tmp_path / "val.json")
    assert (read.class_names, read.about) == (saved.class_names, about)
    assert scores_as_plain(read.scores) == scores_as_plain(scores)
    assert read.scores.confusion.equal(scores.confusion)
    assert (read.scores.boundary is not None) == boundary


def test_a_class_without_pixels_is_null_since_json_has_no_nan(tmp_path) -> None:
    path = tmp_path / "val.json"
    Evaluation(scores=counted(boundary=True), class_names=tuple("abcd"), about={}).save(path)
    plain = json.loads(path.read_text(), parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    for values in (plain["iou"], plain["class_accuracy"], plain["boundary"]["iou"]):
        assert [value is None for value in values] == [False, False, False, True]
    assert plain["boundary"]["f_score"][3] is None
    assert 0 < plain["mean_iou"] < 1


def test_the_names_of_the_scores_are_all_listed() -> None:
    scores = replace(counted(boundary=True), metrics={"calibration": {"ece": 0.5}})
    assert tuple(scores_as_plain(scores)) == SCORES


def test_a_line_of_a_training_log_is_scores_too() -> None:
    scores = counted(boundary=False)
    line = json.loads(json.dumps({"iteration": 10, **scores_as_plain(scores), "losses": {}}))
    assert scores_from_plain(line).confusion.equal(scores.confusion)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"confusion": "x"}, 'confusion must be a list, not "x"'),
        ({"confusion": [[1, 0, 0, 0]] * 3}, "confusion must have 4 entries, not 3"),
        ({"iou": [0.5]}, "iou must have 4 entries, not 1"),
        ({"classes": ["a"]}, "confusion must have 1 entries, not 4"),
        ({"mean_iou": 7}, "mean_iou must be at most 1, not 7"),
        ({"boundary": {}}, "boundary.mean_iou is missing"),
    ],
)
def test_another_file_is_one_clear_line(tmp_path, change, says) -> None:
    path = tmp_path / "val.json"
    Evaluation(scores=counted(boundary=True), class_names=tuple("abcd"), about={}).save(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(UserError, match=re.escape(f"val.json: {says}; write it again by recoseg evaluate")):
        Evaluation.load(path)
