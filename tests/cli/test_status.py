"""The table of runs: how far they are, how good, how long still."""

from __future__ import annotations

import json

import pytest

from recoseg.cli.status import images_by, seconds_left, wrapped_path
from recoseg.config import load
from recoseg.training.run_folder import RunFolder


def row(outcome, name: str) -> str:
    """The line of the table that begins with that run."""
    return next(line for line in outcome.out.splitlines() if line.strip().startswith(name))


@pytest.fixture
def three(recoseg, trained_run, small, full_disk_at) -> None:
    """runs/done, runs/deep/best with a choice of weights, and runs/stopped before its first evaluation."""
    trained_run("runs/done", *small)
    trained_run("runs/deep/best", *small, "--train.best-on=val")
    with full_disk_at(1):
        assert recoseg("train", "--out", "runs/stopped", *small).code == 1


def test_all_runs_below_a_folder_are_listed_with_their_state(recoseg, tmp_path, three) -> None:
    outcome = recoseg("status")
    assert outcome.code == 0
    assert "run" in outcome.out
    assert "done" in row(outcome, "runs/done")
    assert "4/4" in row(outcome, "runs/done")
    metrics = [json.loads(line) for line in (tmp_path / "runs/done/metrics.jsonl").read_text().splitlines()]
    assert f"{metrics[-1]['mean_iou']:.1%}" in row(outcome, "runs/done")
    stopped = row(outcome, "runs/stopped")
    assert "stopped" in stopped
    assert "1/4" in stopped
    assert "% on" in row(outcome, "runs/deep/best")
    assert "validation" in outcome.out
    assert all(len(line) <= 80 for line in outcome.out.splitlines())


def test_a_run_with_scores_that_did_not_reach_its_end_is_stopped(recoseg, trained_run, small) -> None:
    metrics = trained_run("runs/half", *small) / "metrics.jsonl"
    metrics.write_text(metrics.read_text().splitlines(keepends=True)[0])
    assert "stopped" in row(recoseg("status"), "runs/half")


def test_a_long_path_takes_two_lines_and_leaves_the_other_columns_whole(recoseg, small) -> None:
    name = "runs/experiments/small/cityscapes-20/reco-classmix/seed-0"
    assert recoseg("train", "--out", name, *small).code == 0
    lines = recoseg("status").out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert "…" not in "".join(lines)
    assert name in "".join(line.split()[0] for line in lines if line.strip())
    assert "done" in next(line for line in lines if "runs/exp" in line)


def test_runs_can_be_named_one_by_one_and_are_listed_once(recoseg, three) -> None:
    outcome = recoseg("status", "runs/stopped", "runs/done", "runs")
    assert outcome.out.count("runs/done") == 1
    assert outcome.out.index("runs/stopped") < outcome.out.index("runs/done") < outcome.out.index("runs/deep")


def test_a_run_in_use_is_running(recoseg, tmp_path, three) -> None:
    claim = RunFolder(tmp_path / "runs" / "stopped").lock()
    assert "running" in row(recoseg("status", "runs"), "runs/stopped")
    claim.close()
    assert "running" not in recoseg("status", "runs").out


def test_looking_changes_nothing(recoseg, tmp_path, three) -> None:
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("*")}
    recoseg("status")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("*")} == before


def test_no_runs_is_a_clear_line(recoseg) -> None:
    outcome = recoseg("status")
    assert (outcome.code, outcome.err) == (
        1,
        "recoseg: no runs at runs: give run folders, or a folder that holds some\n",
    )


def line(iteration: int, seconds: float) -> dict[str, float]:
    return {"iteration": iteration, "seconds": seconds}


def test_the_time_left_follows_the_pace_of_the_last_lines() -> None:
    assert seconds_left([line(10, 100.0), line(20, 110.0), line(30, 120.0)], 50) == 20


def test_the_time_left_counts_the_unlabelled_images_that_a_supervised_start_lacks() -> None:
    """10 steps of 2 images took 10 s; 10 more of them are left, and 80 of 4: 20 and 320 images."""
    words = ["--method=mean_teacher", "--train.iterations=100", "--train.labelled_per_step=2"]
    counted = images_by(load(None, words))
    assert seconds_left([line(5, 5.0), line(10, 10.0)], 100, counted) == pytest.approx((20 + 320) / 2)


def test_the_time_left_knows_only_the_clock_of_the_process_that_runs() -> None:
    """A resumed run counts its seconds from 0 again; its pace is 1 iteration a second, not 10."""
    lines = [line(10, 1.0), line(20, 2.0), line(30, 3.0), line(40, 2.5), line(50, 12.5)]
    assert seconds_left(lines, 60) == 10


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (80, ["runs/first-try/supervised_without_contrast"]),
        (40, ["runs/first-try/supervised_without_", "contrast"]),
        (30, ["runs/first-try/supervised_", "without_contrast"]),
        (20, ["runs/first-try/", "supervised_without_", "contrast"]),
    ],
)
def test_paths_wrap_between_words(width, lines) -> None:
    assert wrapped_path("runs/first-try/supervised_without_contrast", width).split("\n") == lines


def test_a_word_that_is_longer_than_a_line_stays_whole() -> None:
    assert wrapped_path("a/" + 30 * "b", 20).split("\n") == ["a/", 30 * "b"]


def test_the_table_breaks_no_word_of_a_path(recoseg, trained_run, small) -> None:
    trained_run("runs/supervised_without_contrast-400", *small)
    first, second = (line.split() for line in recoseg("status").out.splitlines()[3:5])
    assert first[0] + second[0] == "runs/supervised_without_contrast-400"
    assert first[0][-1] in "/_-"
