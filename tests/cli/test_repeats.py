"""One command, several runs: seeds and folds."""

from __future__ import annotations

import json
import signal

import pytest
import torch
import yaml

from recoseg.evaluate.scores import Scores


@pytest.fixture
def on_photos(photos, small) -> list[str]:
    """Settings of a run of half a second on six labelled photos."""
    settings = [word for word in small if not word.startswith(("--data.", "--split."))]
    return [f"--data={photos}", *settings]


def survey_of(run) -> dict:
    return json.loads((run / "survey.json").read_text())


def test_seeds_are_runs_of_their_own_with_a_table_and_a_page(recoseg, tmp_path, small, lines) -> None:
    outcome = recoseg("train", "--out", "runs/a", "--seeds", "0", "2", *small)
    assert outcome.code == 0, outcome.err
    runs = [tmp_path / "runs" / "a" / name for name in ("seed-0", "seed-2")]
    for run, seed in zip(runs, (0, 2), strict=True):
        assert yaml.safe_load((run / "config.yaml").read_text())["train"]["seed"] == seed
    assert (runs[0] / "split.json").read_text() == (runs[1] / "split.json").read_text()
    assert (runs[0] / "weights.safetensors").read_bytes() != (runs[1] / "weights.safetensors").read_bytes()
    assert not (runs[0] / "report").exists()
    page = (tmp_path / "runs" / "a" / "index.html").read_text(encoding="utf-8")
    assert "The same run with 2 seeds: mean IoU" in page
    scores = [lines(run / "metrics.jsonl")[-1]["mean_iou"] for run in runs]
    table = outcome.out
    assert f"mean {100 * sum(scores) / 2:.1f}%" in " ".join(table.split())
    middle, half = (
        sum(scores) / 2,
        12.7062 * abs(scores[0] - scores[1]) / 2,
    )  # Student's t, 1 degree of freedom
    ends = [100 * min(max(end, 0), 1) for end in (middle - half, middle + half)]
    assert f"95% interval {ends[0]:.1f} to {ends[1]:.1f}" in " ".join(table.split())
    assert f"range {100 * min(scores):.1f} to {100 * max(scores):.1f}" in " ".join(table.split())
    assert "95% bootstrap intervals over 3 images" in table


def test_the_same_command_skips_what_is_done_and_goes_on_with_the_rest(
    recoseg, tmp_path, small, full_disk_at, require_same_end
) -> None:
    words = ("train", "--seeds", "0", "1", *small)
    assert recoseg(*words, "--out", "whole").code == 0
    assert recoseg("train", "--out", "cut", "--seeds", "0", "--no-page", *small).code == 0
    with full_disk_at(3):
        assert recoseg(*words, "--out", "cut").code == 1
    assert not (tmp_path / "cut" / "index.html").exists()
    before = (tmp_path / "cut" / "seed-0" / "state.pt").stat().st_mtime_ns
    outcome = recoseg(*words, "--out", "cut")
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("done already") == 1
    assert (tmp_path / "cut" / "seed-0" / "state.pt").stat().st_mtime_ns == before
    for name in ("seed-0", "seed-1"):
        require_same_end(tmp_path / "whole" / name, tmp_path / "cut" / name)
    assert recoseg(*words, "--out", "cut").out.count("done already") == 2


def test_a_kill_in_the_second_run_loses_nothing(
    recoseg, background, tmp_path, small, lines, slow_steps, require_same_end
) -> None:
    words = ("train", "--seeds", "0", "1", *small)
    assert recoseg(*words, "--out", "whole").code == 0
    slow_steps(0.1)
    started = background(*words, "--out", "cut", quick=True)
    second = tmp_path / "cut" / "seed-1"
    started.wait_for(lambda: any(line["iteration"] >= 1 for line in lines(second / "losses.jsonl")))
    started.signal_all(signal.SIGKILL)
    started.wait()
    slow_steps(0)
    outcome = recoseg(*words, "--out", "cut")
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("done already") == 1
    require_same_end(tmp_path / "whole" / "seed-1", second)


def test_a_signal_says_how_to_go_on_with_all(background, tmp_path, small, lines, slow_steps) -> None:
    slow_steps(0.1)
    started = background("train", "--seeds", "0", "1", *small, "--out", "runs/a", quick=True)
    first = tmp_path / "runs" / "a" / "seed-0"
    started.wait_for(lambda: any(line["iteration"] >= 1 for line in lines(first / "losses.jsonl")))
    started.signal_all(signal.SIGTERM)
    ended = started.wait()
    assert ended.code == 130
    assert "the same command, with --out runs/a, goes on" in ended.err


def test_folds_validate_every_labelled_image_once(recoseg, tmp_path, on_photos) -> None:
    outcome = recoseg("train", "--folds", "3", "--out", "runs/a", *on_photos)
    assert outcome.code == 0, outcome.err
    runs = [tmp_path / "runs" / "a" / f"fold-{fold}" for fold in (1, 2, 3)]
    surveys = [survey_of(run) for run in runs]
    assert sorted(key for one in surveys for key in one["images"]) == [f"p{number}" for number in range(6)]
    for run, one in zip(runs, surveys, strict=True):
        assert not set(json.loads((run / "split.json").read_text())["labelled"]) & one["images"].keys()
    pooled = Scores(sum(torch.tensor(one["confusion"]) for one in surveys))
    row = next(line for line in outcome.out.splitlines() if line.strip().startswith("pooled"))
    assert f" {100 * pooled.mean_iou:.1f}% (" in row
    assert f" {100 * pooled.accuracy:.1f}%" in row
    assert "intervals over 6 images" in outcome.out
    page = (tmp_path / "runs" / "a" / "index.html").read_text(encoding="utf-8")
    assert f"validated once: mean IoU {100 * pooled.mean_iou:.1f}% over all 6 images" in page
    assert recoseg("train", "--folds", "3", "--out", "runs/a", *on_photos).out.count("done already") == 3
    assert recoseg("evaluate", "runs/a/fold-2").code == 0  # on its own part


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--seeds 0 1 --folds 2", "--seeds and --folds do not go together"),
        ("--folds 3", "--folds cuts the labelled images of a folder of your own into parts, and scenes has"),
        ("--seeds 0 --train.seed=3", "--train.seed has no effect beside --seeds"),
        ("--seeds 0 --resume runs/a", "--resume is for one run: the same command with --seeds"),
        ("--seeds 0 -1", "train.seed"),
    ],
)
def test_what_does_not_go_together_is_one_line(recoseg, small, tmp_path, words, says) -> None:
    outcome = recoseg("train", "--out", "runs/b", *words.split(), *small)
    assert outcome.code in (1, 2)
    assert says in outcome.err
    assert len(outcome.err.splitlines()) == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--folds 7", "6 labelled images for 7 folds"),
        ("--folds 1", "data.folds"),
        ("--folds 0", "data.folds"),
        ("--folds 3 --data.val-share 0.3", "--data.val-share has no effect beside --folds"),
    ],
)
def test_folds_that_make_no_sense_are_one_line(recoseg, on_photos, tmp_path, words, says) -> None:
    outcome = recoseg("train", "--out", "runs/b", *words.split(), *on_photos)
    assert outcome.code in (1, 2)
    assert says in outcome.err
    assert len(outcome.err.splitlines()) == 1
    assert not (tmp_path / "runs").exists()


def test_other_settings_are_refused_before_anything_is_trained(recoseg, tmp_path, small) -> None:
    assert recoseg("train", "--out", "a", "--seeds", "1", "--no-page", *small).code == 0
    outcome = recoseg("train", "--out", "a", "--seeds", "0", "1", *small, "--train.clip=3")
    assert outcome.code == 1
    assert "a/seed-1: the run was begun with other settings: train.clip" in outcome.err
    assert not (tmp_path / "a" / "seed-0").exists()


def test_the_folder_of_a_single_run_is_left_alone(recoseg, trained_run, small) -> None:
    trained_run("run", *small)
    outcome = recoseg("train", "--out", "run", "--seeds", "0", *small)
    assert (outcome.code, "holds a single run; choose another --out" in outcome.err) == (1, True)


def test_without_a_place_the_next_number_is_taken(recoseg, tmp_path, small) -> None:
    (tmp_path / "runs" / "004").mkdir(parents=True)
    assert recoseg("train", "--seeds", "5", *small).code == 0
    assert (tmp_path / "runs" / "005" / "seed-5" / "weights.safetensors").is_file()


def test_torchrun_is_not_for_several_runs(recoseg, monkeypatch, small) -> None:
    monkeypatch.setattr("recoseg.runs.repeats.by_torchrun", lambda: True)
    outcome = recoseg("train", "--out", "a", "--seeds", "0", "1", *small)
    assert (outcome.code, "start them without torchrun" in outcome.err) == (1, True)
