"""A grid on a Ray cluster of this machine, through the command line."""

from __future__ import annotations

import builtins
import os
import signal

import pytest

from recoseg.cli import main
from recoseg.cli.experiments_run import in_this_process

TWO = ("--only", "supervised", "reco-classmix", "--workers", "2")


def test_a_run_whose_worker_is_killed_goes_on_in_another_and_none_is_trained_twice(
    covered_children, background, trial, whole_scores
) -> None:
    pytest.importorskip("ray", reason="needs the package ray")
    trial.last_longer()
    run = background(*trial.words, "runs", *TWO, "--ray", "local")
    run.wait_for(lambda: len(trial.losses("reco-classmix")) >= 25)
    os.kill(trial.holder("reco-classmix"), signal.SIGKILL)
    outcome = run.wait()
    assert (outcome.code, outcome.err) == (0, ""), outcome.out
    assert "2 of 2 runs done" in outcome.out
    assert "raylet" not in outcome.out  # Ray tells of it in many lines

    assert [line["iteration"] for line in trial.losses("reco-classmix")] == list(range(1, 61))
    [restart] = trial.restarts("reco-classmix")
    assert restart >= 20  # where the last state was: it did not begin anew
    for row in ("supervised", "reco-classmix"):
        assert trial.times_trained(row) == 1
        assert trial.scores(row) == whole_scores(row)


@pytest.mark.slow
@pytest.mark.parametrize("to_all", [True, False])
def test_ctrl_c_saves_states_and_takes_back_what_waits(background, trial, to_all) -> None:
    """A terminal sends it to all processes, others to the command alone."""
    pytest.importorskip("ray", reason="needs the package ray")
    trial.last_longer()
    run = background(*trial.words, "runs", "--ray", "local", "--workers", "2")
    run.wait_for(lambda: len(trial.losses("supervised")) >= 13)
    if to_all:
        run.signal_all(signal.SIGINT)
    else:
        os.kill(run.process.pid, signal.SIGTERM)
    outcome = run.wait()
    assert outcome.code == 130, outcome.out + outcome.err
    assert outcome.err.strip() == "recoseg: stopped, with states saved; the same command goes on"
    assert "failed" not in outcome.out
    reached = len(trial.losses("supervised"))
    assert 13 <= reached < 60
    assert not trial.run_folder("reco-classmix").exists()  # it waited for a worker

    again = background(*trial.words, "runs", "--ray", "local", "--workers", "2").wait()
    assert again.code == 0, again.out + again.err
    assert trial.restarts("supervised") == [reached]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("127.0.0.1:1", "--ray 127.0.0.1:1: no cluster to work with: [Errno 111] Connection refused"),
        ("somewhere", "--ray somewhere: no cluster to work with: an address is HOST:PORT, auto, or local"),
    ],
)
def test_a_wrong_address_is_one_line(recoseg, trial, address, message) -> None:
    pytest.importorskip("ray", reason="needs the package ray")
    outcome = recoseg(*trial.words, "runs", "--ray", address)
    assert (outcome.code, outcome.out, outcome.err) == (1, "", f"recoseg: {message}\n")


def test_without_the_package_it_says_how_to_install_it(recoseg, trial, monkeypatch) -> None:
    original = builtins.__import__

    def without_ray(name, *rest, **more):
        if name.partition(".")[0] == "ray":
            raise ImportError(name)
        return original(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without_ray)
    outcome = recoseg(*trial.words, "runs", "--ray", "local")
    message = "recoseg: --ray needs the package ray: pip install 'recoseg[ray]'\n"
    assert (outcome.code, outcome.out, outcome.err) == (1, "", message)


def test_what_a_mistake_of_ours_says_is_in_the_log(tmp_path, monkeypatch) -> None:
    """A task has no process of its own, whose last words would be kept."""

    def fails(_) -> int:
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr(main, "main", fails)
    (tmp_path / "log").write_text("before\n")
    assert in_this_process(["train"], tmp_path / "log") == 1
    lines = (tmp_path / "log").read_text().splitlines()
    assert (lines[0], lines[-1]) == ("before", "ZeroDivisionError: by nothing")
    assert "Traceback (most recent call last):" in lines
