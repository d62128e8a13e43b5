"""A grid through the command line: done, failing in part, interrupted in any way, and gone on with."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest

TWO = ("--only", "supervised", "reco-classmix")


def test_a_grid_is_done_and_a_finished_one_runs_nothing_again(recoseg, trial, in_process) -> None:
    outcome = recoseg(*trial.words, "runs")
    assert outcome.code == 0, outcome.out + outcome.err
    assert [words[0] for words in in_process] == ["train", "evaluate"] * 3
    result = trial.scores("classmix")
    place = {"profile": "trial", "column": "scenes-10", "row": "classmix", "seed": 0, "subset": "val"}
    assert {name: result[name] for name in place} == place
    assert result["settings"]["split.labels"] == 10
    assert [iteration for iteration, _ in result["curve"]] == [2, 4, 6]
    assert result["curve"][-1][1] == pytest.approx(result["mean_iou"])  # both of the last weights
    assert len(result["iou"]) > 2
    assert ["ClassMix", *[f"{100 * result['mean_iou']:.1f}"] * 2] in map(str.split, outcome.out.splitlines())
    assert outcome.out.splitlines()[-1] == "3 of 3 runs done"

    in_process.clear()
    again = recoseg(*trial.words, "runs")
    assert again.code == 0
    assert in_process == []
    assert again.out.splitlines()[-1] == "3 of 3 runs done"


def test_a_run_that_another_command_trains_is_waited_for(
    covered_children, recoseg, background, trial, in_process, monkeypatch
) -> None:
    """Two grids may share runs."""
    monkeypatch.setattr("recoseg.experiments.running.execute.SECONDS_TO_NOTICE", 0.1)  # less than it takes
    trial.last_longer()
    words = (*trial.words, "runs", "--only", "classmix")
    first = background(*words, quick=True)
    first.wait_for(lambda: trial.losses("classmix"))
    for outcome in (recoseg(*words), first.wait()):
        assert (outcome.code, outcome.err) == (0, ""), outcome.out
        assert outcome.out.splitlines()[-1] == "1 of 1 runs done"
    assert trial.times_trained("classmix") == 1
    assert ["train"] not in [command[:1] for command in in_process]


def test_what_was_trained_is_only_scored_and_what_was_scored_only_written_down(
    recoseg, trial, in_process
) -> None:
    assert recoseg(*trial.words, "runs", *TWO).code == 0
    scored, trained = trial.run_folder("supervised"), trial.run_folder("reco-classmix")
    before = trial.scores("supervised"), trial.scores("reco-classmix")
    (trained / "scores.json").unlink()
    for folder in (scored, trained):
        (folder / "result.json").unlink()
    in_process.clear()
    assert recoseg(*trial.words, "runs", *TWO).code == 0
    assert in_process == [["evaluate", str(trained)]]
    assert (trial.scores("supervised"), trial.scores("reco-classmix")) == before


@pytest.mark.parametrize(("name", "value"), [("iteration", 4), ("subset", "train"), ("weights", "best")])
def test_scores_of_something_else_are_refused(recoseg, trial, in_process, name, value) -> None:
    assert recoseg(*trial.words, "runs", "--only", "supervised").code == 0
    folder = trial.run_folder("supervised")
    (folder / "result.json").unlink()
    scores = json.loads((folder / "scores.json").read_text())
    assert scores[name] != value
    scores[name] = value
    (folder / "scores.json").write_text(json.dumps(scores))
    outcome = recoseg(*trial.words, "runs", "--only", "supervised")
    assert outcome.code in (1, 2)
    assert f"scores.json is not of {name} " in outcome.out


def test_a_folder_that_is_not_yet_a_run_is_put_aside(recoseg, trial, in_process) -> None:
    half = trial.run_folder("supervised")
    half.mkdir(parents=True)
    (half / "split.json").write_text("{}")
    assert recoseg(*trial.words, "runs", "--only", "supervised").code == 0
    assert (half.with_name("seed-0.broken-1") / "split.json").read_text() == "{}"
    assert (half / "result.json").is_file()


def test_a_run_with_other_settings_is_named_and_left_alone_and_others_go_on(
    recoseg, trial, in_process
) -> None:
    assert recoseg(*trial.words, "runs", "--only", "supervised").code == 0
    config = trial.run_folder("supervised") / "config.yaml"
    config.write_text(config.read_text().replace("lr: 0.0025", "lr: 0.5"))
    before = config.read_text()
    outcome = recoseg(*trial.words, "runs", "--only", "supervised", "classmix")
    assert outcome.code in (1, 2)
    message = f"scenes-10/supervised/seed-0: {config.parent} was begun with other settings: optimiser.lr"
    assert outcome.out.splitlines()[-1] == f"failed: {message}"
    assert "1 of 2 runs done, 1 failed" in outcome.out
    assert config.read_text() == before
    assert (trial.run_folder("classmix") / "result.json").is_file()


def test_a_run_that_fails_says_why_and_does_not_stop_the_others(recoseg, trial) -> None:
    """Here each is a process of its own, two at a time."""
    (trial.path / "trial.yaml").open("a").write("supervised: {model.weights: nowhere.pth}\n")
    outcome = recoseg(*trial.words, "runs", "--workers", "2", "--only", "supervised", "classmix")
    assert outcome.code in (1, 2)
    lines = outcome.out.splitlines()
    assert lines.count("failed: scenes-10/supervised/seed-0: no weights file at nowhere.pth") == 2
    assert "1 of 2 runs done, 1 failed" in lines
    assert (trial.run_folder("classmix") / "result.json").is_file()


def test_a_mistake_in_a_profile_is_one_line_before_anything_is_run(recoseg, trial, in_process) -> None:
    trial.change("trial.yaml", "contrast.feature_channels: 8", "contrast.num_hard: 1")
    outcome = recoseg(*trial.words, "runs")
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (1, "", 1)
    assert "profile trial, scenes-10/reco-classmix: --contrast.num_hard: unknown setting" in outcome.err
    assert in_process == []


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGTERM,
        pytest.param(signal.SIGINT, marks=pytest.mark.slow),
        pytest.param(signal.SIGKILL, marks=pytest.mark.slow),
    ],
)
def test_an_interrupted_grid_goes_on_to_the_end_that_it_would_have_had(
    recoseg, background, trial, in_process, whole_scores, number
) -> None:
    trial.last_longer()
    run = background(*trial.words, "runs", *TWO, "--workers", "2", quick=True)
    run.wait_for(lambda: len(trial.losses("supervised")) >= 13)
    run.signal_all(number)
    outcome = run.wait()
    if number == signal.SIGKILL:
        assert outcome.code == -signal.SIGKILL
        deadline = time.monotonic() + 600  # what it had begun is told by the system, and saves
        while trial.holder("supervised") and time.monotonic() < deadline:
            time.sleep(0.1)
        assert trial.holder("supervised") is None
    else:
        assert outcome.code == 130, outcome.err
        assert outcome.err.strip() == "recoseg: stopped, with states saved; the same command goes on"
        assert "stopping: runs save their states" in outcome.out
        assert "failed" not in outcome.out
    reached = len(trial.losses("supervised"))
    assert 13 <= reached < 60

    trial.slow_steps(0)
    assert recoseg(*trial.words, "runs", *TWO).code == 0
    assert trial.restarts("supervised") == [reached]  # nothing that was done was done again
    for row in ("supervised", "reco-classmix"):
        assert trial.scores(row) == whole_scores(row)
        assert trial.times_trained(row) == 1


def test_a_second_ctrl_c_ends_at_once(background, trial) -> None:
    trial.last_longer(seconds=1200)
    run = background(*trial.words, "runs", "--only", "supervised", quick=True)
    run.wait_for(lambda: trial.holder("supervised") is not None)
    child = trial.holder("supervised")
    os.kill(run.process.pid, signal.SIGINT)
    run.wait_for_words("stopping: runs save their states")
    assert run.process.poll() is None  # it waits for the run to save, which it does after its step
    os.kill(run.process.pid, signal.SIGINT)
    outcome = run.wait()
    assert (outcome.code, outcome.err) == (130, "\nrecoseg: interrupted\n")
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
