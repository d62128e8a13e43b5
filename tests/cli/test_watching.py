"""What a run shows while it goes: TensorBoard events, progress and lines."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch
from PIL import Image
from rich.console import Console
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from recoseg import progress
from recoseg.config import load
from recoseg.runs.start import new_run


@pytest.fixture
def events(recoseg, tmp_path, small, classmix_and_contrast) -> EventAccumulator:
    settings = [*small, *classmix_and_contrast, "--train.best-on=labelled"]
    outcome = recoseg("train", "--out", "run", *settings)
    assert outcome.code == 0, outcome.err
    events = EventAccumulator(str(tmp_path / "run"), {"scalars": 0, "images": 0})
    events.Reload()
    return events


def test_tensorboard_has_losses_scores_contrast_and_rate(events, tmp_path, lines) -> None:
    losses = lines(tmp_path / "run" / "losses.jsonl")
    for part in ("loss", "supervised", "unsupervised", "contrast"):
        shown = [(event.step, event.value) for event in events.Scalars(f"loss/{part}")]
        assert shown == [(line["iteration"], pytest.approx(line[part])) for line in losses]
    assert [event.value for event in events.Scalars("lr")] == pytest.approx([line["lr"] for line in losses])
    metrics = lines(tmp_path / "run" / "metrics.jsonl")
    for name in ("mean_iou", "accuracy"):
        assert [event.value for event in events.Scalars(f"val/{name}")] == pytest.approx(
            [line[name] for line in metrics]
        )
    assert [event.value for event in events.Scalars("selection/mean_iou")] == pytest.approx(
        [line["selection"]["mean_iou"] for line in metrics]
    )
    stats = [tag for tag in events.Tags()["scalars"] if tag.startswith("stats/")]
    assert sorted(stats) == [
        "stats/contrast_accuracy",
        "stats/contrast_active_classes",
        "stats/contrast_chance_level",
        "stats/contrast_hard_share",
    ]
    # log(1 + 16 negative keys): what a contrast that knows nothing would have
    assert events.Scalars("stats/contrast_chance_level")[0].value == pytest.approx(2.833213)


def test_tensorboard_shows_what_the_student_saw(events) -> None:
    assert events.Tags()["images"] == ["mixed"]
    shown = events.Images("mixed")
    assert [image.step for image in shown] == [2, 4]
    picture = Image.open(io.BytesIO(shown[-1].encoded_image_string))
    assert picture.size == (3 * 32, 2 * 32)  # image, pseudo-label and confidence of two images
    left, right = (
        torch.tensor(np.array(picture.crop(box).convert("RGB"))) for box in ((0, 0, 32, 64), (64, 0, 96, 64))
    )
    assert (right == right[..., :1]).all()  # confidence is grey
    assert not (left == left[..., :1]).all()


@pytest.fixture
def run_on(tmp_path, small, classmix_and_contrast, monkeypatch):
    """What a run prints on a terminal of 80 columns, or elsewhere."""

    def run(*, terminal: bool) -> str:
        monkeypatch.chdir(tmp_path)
        text = io.StringIO()
        console = Console(width=80, force_terminal=terminal, file=text, color_system=None)
        new_run(load(None, [*small, *classmix_and_contrast]), tmp_path / f"run{terminal}").run(console)
        return text.getvalue()

    return run


def test_a_terminal_shows_a_bar_with_parts_speed_memory_and_time_left(run_on) -> None:
    shown = run_on(terminal=True).replace("\r", "\n").splitlines()
    bars = [line for line in shown if "4/4" in line]
    assert "images/s" in bars[-1]
    assert " GB  0:00 left" in bars[-1]
    parts = [line for line in shown if line.startswith("  loss ")]
    for part in ("supervised", "unsupervised", "contrast"):
        assert part in parts[-1]


def test_elsewhere_there_are_plain_lines(run_on, monkeypatch) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    shown = run_on(terminal=False)
    assert "\x1b" not in shown
    lines = [line for line in shown.splitlines() if line.startswith("4 of 4 iterations, ")]
    assert len(lines) == 1
    assert "images/s" in lines[0]
    assert "  loss " in lines[0]
    assert shown.count("mean IoU") == 2
