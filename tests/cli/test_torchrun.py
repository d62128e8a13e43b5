"""Training in two processes under torchrun, through the command line."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest
import torch

from recoseg.data.scenes import Scenes
from recoseg.methods import METHODS
from recoseg.types import IGNORE

SHARED = ["--train.labelled-per-step=4", "--train.evaluate-every=3", "--train.iterations=6"]


def workers_of(process_id: int) -> list[int]:
    """The processes that torchrun started, in the order of their ranks."""
    return [int(word) for word in Path(f"/proc/{process_id}/task/{process_id}/children").read_text().split()]


@pytest.fixture
def two_processes(background):
    """`two_processes("train", ...)`: as torchrun starts them on one machine, but without it."""

    def start(*words: str) -> list:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        shared = {
            "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
            "TORCHELASTIC_RUN_ID": "none", "TORCHELASTIC_RESTART_COUNT": "0",
        }  # fmt: skip
        return [
            background(*words, quick=True, variables={**shared, "RANK": rank, "LOCAL_RANK": rank})
            for rank in ("0", "1")
        ]

    return start


has_proc = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs Linux's /proc")


def test_two_processes_train_one_run_which_one_process_can_go_on_with(
    two_processes, recoseg, tmp_path, small, slow_steps, classmix_and_contrast, lines
) -> None:
    settings = [*small, *classmix_and_contrast, *SHARED, "--train.iterations=60"]
    slow_steps(0.05)  # there is time to stop it
    first, second = two_processes("train", "--out", "run", *settings)
    first.wait_for(lambda: len(lines(tmp_path / "run" / "metrics.jsonl")) >= 2)
    for one in (first, second):
        one.process.terminate()  # as torchrun does when it is asked to end
    outcome, other = first.wait(), second.wait()
    assert (outcome.code, other.code) == (130, 130)
    stopped = torch.load(tmp_path / "run" / "state.pt", weights_only=True)["iteration"]
    assert f"stopped after iteration {stopped}; go on with: recoseg train --resume run" in outcome.err
    assert "lost the others" not in outcome.err + other.err

    # Only the first process writes, and it writes scores of all images and means over both.
    assert other.out == ""
    assert outcome.out.count("method:  mean_teacher with classmix + regional contrast") == 1
    assert outcome.out.count("iteration 3: mean IoU") == 1
    metrics = lines(tmp_path / "run" / "metrics.jsonl")
    assert [line["iteration"] for line in metrics[:2]] == [3, 6]
    scenes = Scenes(height=32, width=32, num_train=8, num_val=3)
    labelled = sum(int((scenes.labels(key) != IGNORE).sum()) for key in scenes.keys("val"))
    assert all(sum(map(sum, line["confusion"])) == labelled for line in metrics)
    losses = lines(tmp_path / "run" / "losses.jsonl")
    assert [line["iteration"] for line in losses] == list(range(1, stopped + 1))
    assert len(list((tmp_path / "run").glob("events.*"))) == 1

    slow_steps(0)
    refused = recoseg("train", "--out", "run", *settings)  # without torchrun nothing goes on by itself
    assert "already holds a run" in refused.err
    resumed = recoseg("train", "--resume", "run")
    assert resumed.code == 0, resumed.err
    assert lines(tmp_path / "run" / "losses.jsonl")[: len(losses)] == losses
    assert lines(tmp_path / "run" / "losses.jsonl")[-1]["iteration"] == 60


@pytest.fixture
def killed_and_restarted(background, tmp_path, small, classmix_and_contrast, lines):
    """The outcome of a run in `cut` whose second process was killed, and its settings."""
    settings = [*small, *classmix_and_contrast, *SHARED, "--train.iterations=30"]
    restart = ("--max-restarts=1",)
    run = background("train", "--out", "cut", *settings, processes=2, torchrun=restart, quick=True)
    run.wait_for(lambda: len(lines(tmp_path / "cut" / "metrics.jsonl")) >= 2)
    second = workers_of(run.process.pid)[1]
    os.kill(second, signal.SIGKILL)
    return run.wait(), settings


@has_proc
def test_a_killed_process_leads_to_a_restart_from_the_last_state(killed_and_restarted) -> None:
    outcome, _ = killed_and_restarted
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("method:  mean_teacher") == 2  # it was begun twice
    assert outcome.out.count("iteration 3: mean IoU") == 1  # but not at the beginning
    assert outcome.out.count("iteration 30: mean IoU") == 1


@pytest.mark.slow
@has_proc
def test_a_killed_and_restarted_run_of_two_processes_ends_as_if_it_had_never_been(
    killed_and_restarted, background, tmp_path, require_same_end
) -> None:
    _, settings = killed_and_restarted
    whole = background("train", "--out", "whole", *settings, processes=2).wait()
    assert whole.code == 0, whole.err
    require_same_end(tmp_path / "whole", tmp_path / "cut")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_runs_in_two_processes(background, tmp_path, tiny, lines, name) -> None:
    settings = [*tiny, *SHARED, "--split.labels=2", f"--method={name}", "--contrast=reco"]
    settings += ["--augment.crop=96"]
    run = background("train", "--out", "run", *settings, processes=2).wait()
    assert run.code == 0, run.err
    assert [line["iteration"] for line in lines(tmp_path / "run" / "metrics.jsonl")] == [3, 6]


@pytest.mark.slow
def test_a_network_with_layers_that_no_loss_reaches_trains_in_two_processes(
    background, tmp_path, small, lines
) -> None:
    (tmp_path / "odd_network.py").write_text(
        "from small_network import small\n"
        "def odd(num_classes):\n"
        "    network = small(num_classes)\n"
        "    network[0].spare = network[1].__class__(8, 8, 1)\n"
        "    forward = network[0].forward\n"
        "    network[0].forward = lambda x: [x := layer(x) for layer in list(network[0])[:4]][-1]\n"
        "    return network\n"
    )
    settings = [*small, *SHARED, "--model.factory=odd_network:odd"]
    run = background("train", "--out", "run", *settings, processes=2).wait()
    assert run.code == 0, run.err


def test_a_mistake_is_one_clear_line_of_the_first_process(two_processes, tmp_path, small) -> None:
    first, second = two_processes("train", "--out", "run", *small, "--train.labelled-per-step=3")
    outcome = first.wait()
    assert second.process.poll() is None  # it leaves the word to the first one
    second.process.terminate()  # as torchrun does once one of them has ended
    assert outcome.code == 1
    said = outcome.err + second.wait().err
    ours = [line for line in said.splitlines() if line.startswith("recoseg: ")]
    assert len(ours) == 1
    assert "labelled_per_step 3 cannot be shared equally by 2 processes in 1 parts each" in ours[0]
    assert not (tmp_path / "run").exists()


def test_the_same_command_goes_on_under_torchrun_with_the_same_settings_only(
    recoseg, tmp_path, small, monkeypatch, lines
) -> None:
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")  # what torchrun sets, here for a single process
    nameless = recoseg("train", *small)
    assert "give --out RUN with torchrun" in nameless.err
    assert recoseg("train", "--out", "run", *small).code == 0
    again = recoseg("train", "--out", "run", *small)
    assert again.code == 0, again.err
    assert [line["iteration"] for line in lines(tmp_path / "run" / "metrics.jsonl")] == [2, 4]
    other = recoseg("train", "--out", "run", *small, "--train.seed=1")
    assert (other.code, other.err.count("\n")) == (1, 1)
    assert "begun with other settings: train.seed 0 -> 1" in other.err
