"""The calibration error, of confidence that can be read off."""

from __future__ import annotations

import json
import math

import pytest
import torch

from recoseg.errors import UserError
from recoseg.evaluate import METRICS, Calibration
from recoseg.evaluate.calibration import NUM_BINS
from recoseg.evaluate.loop import Seen
from recoseg.evaluate.scores import Scores
from recoseg.evaluate.scores_file import Evaluation
from recoseg.types import IGNORE

ALL = (slice(None), slice(None))


def seen(*pixels: tuple[float, bool], void: int = 0) -> Seen:
    """One row: the confidence that class 0 has, and whether that is right."""
    logits = torch.tensor([[math.log(share), math.log(1 - share)] for share, _ in pixels]).t()[None, :, None]
    labels = torch.tensor([0 if right else 1 for _, right in pixels], dtype=torch.uint8)
    labels[:void] = IGNORE
    return Seen(labels[None, None], labels[None, None], [(*ALL, logits)])


def ece(*parts: Seen) -> float:
    whole = Calibration(2)
    for part in parts:
        one = whole.fresh()
        one.add(part)
        whole.take(one)
    return whole.result()["ece"]


def test_who_is_right_as_often_as_said_has_no_error() -> None:
    assert ece(seen(*[(0.75, True)] * 3, (0.75, False))) == pytest.approx(0, abs=1e-6)


def test_the_error_is_how_far_off_confidence_is_weighted_by_pixels() -> None:
    sure = seen(*[(0.99, True), (0.99, False)])  # off by 0.49
    unsure = seen(*[(0.6, True)] * 6)  # off by 0.4
    assert ece(sure, unsure) == pytest.approx((2 * 0.49 + 6 * 0.4) / 8, rel=1e-4)


def test_pixels_without_a_label_do_not_count_and_none_at_all_have_no_error() -> None:
    assert ece(seen((0.9, False), (0.75, True), void=1)) == pytest.approx(0.25, rel=1e-5)
    assert ece(seen((0.9, False), void=1)) is None


def test_certainty_falls_into_the_last_bin() -> None:
    counter = Calibration(2)
    counter.add(seen((1 - 1e-9, True)))
    assert counter.result()["bins"][0] == [0] * (NUM_BINS - 1) + [1]


@pytest.mark.parametrize("damage", [{}, {"ece": "much", "bins": []}, {"ece": 7.0, "bins": []}, {"ece": 0.1}])
def test_a_damaged_result_is_named(tmp_path, damage) -> None:
    scores = Scores(torch.eye(2, dtype=torch.int64), metrics={"calibration": damage})
    evaluation = Evaluation(scores=scores, class_names=("a", "b"), about={})
    evaluation.save(tmp_path / "scores.json")
    with pytest.raises(UserError, match=r"scores\.json: metrics\.calibration\.(ece|bins) "):
        Evaluation.load(tmp_path / "scores.json")


class LargestLabel:
    """A toy metric: one file, and one line in METRICS."""

    needs_embeddings = False
    kind = dict[str, int]

    def __init__(self, num_classes, *, device="cpu"):
        self.num_classes, self.largest = num_classes, 0

    def fresh(self):
        return LargestLabel(self.num_classes)

    def add(self, seen):
        self.largest = max(self.largest, int(seen.labels[seen.labels != IGNORE].max()))

    def take(self, other):
        self.largest = max(self.largest, other.largest)

    def result(self):
        return {"largest": self.largest}

    @staticmethod
    def told(result):
        return "Largest label", str(result["largest"])


def test_a_metric_is_a_counter_and_its_line(tmp_path, monkeypatch, capsys) -> None:
    from recoseg.cli.main import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(METRICS, "largest", LargestLabel)
    settings = (
        "--data.height=32 --data.width=32 --data.num-train=4 --data.num-val=2 --augment.crop=32 "
        "--model.decoder-width=8 --model.separable=true --train.iterations=1 --train.evaluate-every=1"
    )
    assert main(["train", "--out", "run", *settings.split()]) == 0
    assert main(["evaluate", "run"]) == 0
    found = json.loads((tmp_path / "run" / "evaluation" / "val.json").read_text())["metrics"]
    assert found["largest"]["largest"] <= 15
    assert 0 <= found["calibration"]["ece"] <= 1
    assert f"Largest label: {found['largest']['largest']}." in capsys.readouterr().out
    assert "Largest label" in (tmp_path / "run" / "report" / "index.html").read_text()
