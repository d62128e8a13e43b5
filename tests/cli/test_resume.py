"""A run that was ended, in whatever way, goes on to exactly the end that it would have had."""

from __future__ import annotations

import random
import shutil
import signal
import time
import zipfile
from pathlib import Path

import pytest
import torch
import yaml
from rich.console import Console

from recoseg.config import load
from recoseg.models import weights as weights_file
from recoseg.runs.start import new_run, resumed_run
from recoseg.training import run_folder
from recoseg.training import state as state_file
from recoseg.training.run_folder import RunFolder

MATCHING = ["--model.factory=small_network:divided", "--method.pixel-above=0.1"]
LONG = ["--train.iterations=40", "--train.evaluate-every=3", "--train.log-every=2", "--train.best-on=val"]


def kill_at(background, path, lines, iteration, delay) -> int:
    """Let a run go on until its log shows that iteration, and a bit longer; returns how far the log got."""

    def has_come() -> bool:
        return any(line["iteration"] >= iteration for line in lines(path / "losses.jsonl"))

    background.wait_for(has_come)
    time.sleep(delay)
    background.signal_all(signal.SIGKILL)
    assert background.wait().code == -signal.SIGKILL
    return lines(path / "losses.jsonl")[-1]["iteration"]


def test_a_run_killed_twice_ends_as_if_it_had_never_been(
    recoseg, background, tmp_path, small, classmix_and_contrast, lines, require_same_end
) -> None:
    settings = [*small, *classmix_and_contrast, *LONG]
    assert recoseg("train", "--out", "whole", *settings).code == 0
    draws = random.Random(6)
    first = kill_at(
        background("train", "--out", "cut", *settings, quick=True),
        tmp_path / "cut",
        lines,
        4,
        draws.uniform(0, 0.1),
    )
    second = kill_at(
        background("train", "--resume", "cut", quick=True),
        tmp_path / "cut",
        lines,
        first + 4,
        draws.uniform(0, 0.1),
    )
    assert 4 <= first < second < 40
    assert recoseg("train", "--resume", "cut").code == 0
    require_same_end(tmp_path / "whole", tmp_path / "cut")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_run_of_a_real_network_killed_at_random_moments_ends_as_if_it_had_never_been(
    recoseg, background, tmp_path, tiny, classmix_and_contrast, lines, require_same_end, seed
) -> None:
    settings = [*tiny, *classmix_and_contrast, *LONG, "--split.labels=2", "--train.workers=1"]
    assert recoseg("train", "--out", "whole", *settings, "--train.workers=0").code == 0
    draws, path = random.Random(seed), tmp_path / "cut"
    start = background("train", "--out", "cut", *settings)
    reached = 1
    for _ in range(5):
        reached = kill_at(start, path, lines, min(reached + draws.randrange(8), 36), draws.uniform(0, 0.5))
        start = background("train", "--resume", "cut")
    outcome = start.wait(300)
    assert outcome.code == 0, outcome.err
    require_same_end(tmp_path / "whole", path)


def test_a_run_with_adamw_goes_on_exactly(recoseg, tmp_path, small, full_disk_at, require_same_end) -> None:
    settings = [*small, "--optimiser=adamw", "--optimiser.lr=0.01"]
    assert recoseg("train", "--out", "whole", *settings).code == 0
    with full_disk_at(3):
        assert recoseg("train", "--out", "cut", *settings).code == 1
    assert recoseg("train", "--resume", "cut").code == 0
    require_same_end(tmp_path / "whole", tmp_path / "cut")


@pytest.mark.parametrize(
    "method",
    [
        ["--method=mean_teacher", "--method.mix=none", "--method.consistency=probabilities"],
        ["--method=mean_teacher", "--method.trust-above=0", "--method.align=true"],
        ["--method=vat", "--method.trust-above=0"],
        ["--method=cct"],
        [*MATCHING, "--method.threshold=daw", "--method=fixmatch"],
        [*MATCHING, "--method=unimatch"],
        [*MATCHING, "--method=unimatch_v2"],
        [*MATCHING, "--method.store-every=1", "--method.num-previous=2", "--method=prevmatch"],
    ],
    ids=lambda words: words[-1],
)
def test_a_run_of_another_method_goes_on_exactly(
    recoseg, tmp_path, small, full_disk_at, require_same_end, method
) -> None:
    settings = [
        *small,
        *method,
        "--contrast.num-queries=8",
        "--contrast.num-keys=16",
        "--contrast.feature-channels=8",
    ]
    assert recoseg("train", "--out", "whole", *settings).code == 0
    with full_disk_at(3):
        assert recoseg("train", "--out", "cut", *settings).code == 1
    assert recoseg("train", "--resume", "cut").code == 0
    require_same_end(tmp_path / "whole", tmp_path / "cut")


class PowerCut(BaseException):
    """Nothing catches it: whatever is not on the disk is gone."""


def test_a_crash_before_or_after_any_write_changes_nothing(
    tmp_path, monkeypatch, small, classmix_and_contrast, require_same_end
) -> None:
    monkeypatch.chdir(tmp_path)
    more = ["--train.iterations=2", "--train.evaluate-every=1", "--train.best-on=labelled"]
    config = load(None, [*small, *classmix_and_contrast, *more])
    quiet = Console(quiet=True)
    new_run(config, tmp_path / "whole").run(quiet)
    writes = []

    def counted(original, crash_at, after):
        def write(*arguments):
            writes.append(arguments[0])
            if len(writes) - 1 == crash_at and not after:
                raise PowerCut
            original(*arguments)
            if len(writes) - 1 == crash_at:
                raise PowerCut

        return write

    def train(path: Path, crash_at: int | None, after: bool) -> None:
        writes.clear()
        run = new_run(config, path)
        with monkeypatch.context() as patched:
            for module, name in (
                (run_folder, "write_whole"),
                (state_file, "write_whole"),
                (weights_file, "write_whole"),
                (run_folder, "append_line"),
            ):
                patched.setattr(module, name, counted(getattr(module, name), crash_at, after))
            patched.setattr("recoseg.training.log.append_line", run_folder.append_line)
            run.run(quiet)

    train(tmp_path / "counted", None, False)
    total = len(writes)
    assert total >= 2 + 2 * 4 + 1  # two empty logs; then losses, weights, metrics, state; at times the best
    for crash_at in range(total):
        path = tmp_path / f"cut{crash_at}"
        with pytest.raises(PowerCut):
            train(path, crash_at, after=crash_at % 2 == 0)
        resumed_run(config, RunFolder.open(path)).run(quiet)
        require_same_end(tmp_path / "whole", path)
        shutil.rmtree(path)


def broken(path: Path, how: str) -> None:
    data = bytearray(path.read_bytes())
    if how == "truncated":
        data = data[: len(data) // 2]
    elif how == "empty":
        data = bytearray()
    else:
        with zipfile.ZipFile(path) as archive:
            largest = max((archive.read(name) for name in archive.namelist()), key=len)
        data[data.find(largest) + len(largest) // 2] ^= 16  # in a tensor; there is padding between them
    path.unlink()  # it may be the same file as the state before it, by another name
    path.write_bytes(data)


@pytest.mark.parametrize("how", ["truncated", "empty", "with one bit flipped"])
def test_a_state_that_is_damaged_falls_back_to_the_one_before(
    recoseg, trained_run, tmp_path, small, classmix_and_contrast, require_same_end, how
) -> None:
    whole = trained_run("whole", *small, *classmix_and_contrast)
    shutil.copytree(whole, tmp_path / "cut")
    broken(tmp_path / "cut" / "state.pt", how)
    outcome = recoseg("train", "--resume", "cut")
    assert outcome.code == 0, outcome.err
    warning = "warning: cut/state.pt is damaged; going on from the state before it, iteration 2"
    assert warning in outcome.out
    require_same_end(tmp_path / "whole", tmp_path / "cut")


def test_a_damaged_state_is_not_kept_as_the_spare_of_the_next(
    recoseg, trained_run, tmp_path, small, monkeypatch, require_same_end
) -> None:
    shutil.copytree(trained_run("whole", *small), tmp_path / "cut")
    broken(tmp_path / "cut" / "state.pt", "truncated")

    def cut_off(*arguments):
        raise PowerCut

    with monkeypatch.context() as patched:
        patched.setattr(state_file, "write_whole", cut_off)
        with pytest.raises(PowerCut):
            recoseg("train", "--resume", "cut")
    outcome = recoseg("train", "--resume", "cut")
    assert outcome.code == 0, outcome.err
    require_same_end(tmp_path / "whole", tmp_path / "cut")


def test_two_damaged_states_are_a_clear_line(recoseg, trained_run, small) -> None:
    run = trained_run("run", *small)
    for name in ("state.pt", "state.previous.pt"):
        broken(run / name, "truncated")
    outcome = recoseg("train", "--resume", "run")
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert "state.pt is damaged, and there is no whole state before it" in outcome.err
    assert "start a new one with --out" in outcome.err


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_signal_to_the_whole_group_saves_and_says_how_to_go_on(
    background, recoseg, tmp_path, small, classmix_and_contrast, lines, number, require_same_end
) -> None:
    """Also where a process loads images: it gets the signal too, and must not leave the run without them."""
    settings = [*small, *classmix_and_contrast, "--train.iterations=400", "--train.evaluate-every=400"]
    run = background("train", "--out", "cut", *settings, "--train.workers=1")
    run.wait_for(lambda: bool(lines(tmp_path / "cut" / "losses.jsonl")))
    run.signal_all(number)
    outcome = run.wait()
    assert outcome.code == 130, outcome.err
    assert "Traceback" not in outcome.err
    done = torch.load(tmp_path / "cut" / "state.pt", weights_only=True)["iteration"]
    assert 1 <= done < 400
    message = f"recoseg: stopped after iteration {done}; go on with: recoseg train --resume cut"
    ours = [line for line in outcome.err.splitlines() if line.startswith("recoseg:")]  # coverage may warn too
    assert ours == [message]
    assert lines(tmp_path / "cut" / "losses.jsonl")[-1]["iteration"] == done


@pytest.mark.slow
def test_ctrl_c_while_a_loading_process_starts_is_no_traceback(background, tmp_path, small) -> None:
    run = background("train", "--out", "cut", *small, "--train.iterations=400", "--train.workers=1")
    children = Path(f"/proc/{run.process.pid}/task/{run.process.pid}/children")
    if not children.is_file():
        pytest.skip("needs Linux's /proc")
    run.wait_for(lambda: (tmp_path / "cut").is_dir() and len(children.read_text().split()) >= 2)
    time.sleep(0.3)  # it imports for seconds
    assert not (tmp_path / "cut" / "losses.jsonl").read_text()
    run.signal_all(signal.SIGINT)
    outcome = run.wait()
    assert outcome.code == 130, outcome.err
    message = "recoseg: stopped after iteration 1; go on with: recoseg train --resume cut"
    assert outcome.err.strip().splitlines()[0] == message
    assert "Traceback" not in outcome.err


def test_events_of_a_run_that_was_cut_are_shown_once(recoseg, tmp_path, small, full_disk_at) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for cut_at in (1, 3):  # before and after the first state
        with full_disk_at(cut_at):
            assert recoseg("train", "--out", f"run{cut_at}", *small).code == 1
        [first] = (tmp_path / f"run{cut_at}").glob("events.*")
        second = first.name.split(".")[3]  # TensorBoard orders files by the second in their names
        first.rename(first.with_name(first.name.replace(second, str(int(second) - 2))))
        assert recoseg("train", "--resume", f"run{cut_at}").code == 0
        events = EventAccumulator(str(tmp_path / f"run{cut_at}"), {"scalars": 0})
        events.Reload()
        assert [event.step for event in events.Scalars("loss/loss")] == [1, 2, 3, 4]


def test_a_config_edited_by_hand_is_refused_with_all_differences(recoseg, trained_run, small) -> None:
    path = trained_run("run", *small) / "config.yaml"
    config = yaml.safe_load(path.read_text())
    config["optimiser"]["lr"], config["train"]["seed"], config["train"]["cache_gb"] = 0.5, 7, 1.0
    path.write_text(yaml.safe_dump(config))
    outcome = recoseg("train", "--resume", "run")
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert "begun with other settings: optimiser.lr 0.0025 -> 0.5; train.seed 0 -> 7. " in outcome.err
    assert "train.workers may change" in outcome.err


def test_only_harmless_settings_can_be_given_to_a_resumed_run(
    recoseg, trained_run, tmp_path, small, full_disk_at, lines
) -> None:
    trained_run("whole", *small)
    with full_disk_at(3):
        assert recoseg("train", "--out", "cut", *small).code == 1
    refused = recoseg("train", "--resume", "cut", "--method", "mean_teacher", "--optimiser.lr", "1")
    assert refused.code == 1
    assert "method.name supervised -> mean_teacher" in refused.err
    assert "optimiser.lr 0.0025 -> 1.0" in refused.err
    allowed = recoseg("train", "--resume", "cut", "--train.workers=1", "--train.log-every=4")
    assert allowed.code == 0, allowed.err
    assert [line["iteration"] for line in lines(tmp_path / "cut" / "losses.jsonl")] == [1, 2, 4]
    for name in ("metrics.jsonl", "weights.safetensors"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "cut" / name).read_bytes()


def test_a_run_without_a_state_yet_is_not_resumed_with_other_settings(recoseg, small, full_disk_at) -> None:
    with full_disk_at(1):
        assert recoseg("train", "--out", "cut", *small).code == 1
    refused = recoseg("train", "--resume", "cut", "--optimiser.lr", "1")
    assert refused.code == 1
    assert "optimiser.lr 0.0025 -> 1.0" in refused.err


def test_a_folder_of_another_program_is_refused_and_left_alone(recoseg, tmp_path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "config.yaml").write_text("learning_rate: 0.1\n")
    outcome = recoseg("train", "--resume", "other")
    assert outcome.err == "recoseg: other is not a run of recoseg: it has no split.json\n"
    outcome = recoseg("train", "--out", "other")
    assert "other exists and is not an empty folder; choose another --out" in outcome.err
    assert [path.name for path in other.iterdir()] == ["config.yaml"]


def test_resume_takes_no_other_config(recoseg, trained_run, small) -> None:
    trained_run("run", *small)
    outcome = recoseg("train", "--resume", "run", "--config", "demo")
    assert "leave out --config and --out" in outcome.err


def test_a_run_that_is_done_says_so_and_stays_as_it_is(trained_run, recoseg, small) -> None:
    run = trained_run("run", *small)
    before = {path: path.read_bytes() for path in run.iterdir() if path.is_file()}
    outcome = recoseg("train", "--resume", "run")
    assert outcome.code == 0
    assert "iterations are done: nothing is left to train" in outcome.out
    assert {path: path.read_bytes() for path in before} == before


def test_data_that_has_moved_is_named_with_the_option_that_says_where(
    recoseg, photos, tiny, tmp_path
) -> None:
    words = [word for word in tiny if not word.startswith("--data.")]
    assert recoseg("train", "--data", photos, "--out", "run", *words, "--no-page").code == 0
    moved = photos.rename(tmp_path / "moved")
    for command in (
        ("report", "run"),
        ("evaluate", "run"),
        ("picture", "relations", "run"),
        ("train", "--resume", "run"),
    ):
        outcome = recoseg(*command)
        assert (outcome.code, outcome.err.count("\n")) == (1, 1)
        assert "--resume run --data FOLDER" in outcome.err
    assert recoseg("train", "--resume", "run", "--data", moved, "--no-page").code == 0
    assert recoseg("report", "run").code == 0
    assert recoseg("evaluate", "run").code == 0


QUICK_CONTRAST = [
    "--contrast.num-queries=8", "--contrast.num-keys=16", "--contrast.feature-channels=8",
]  # fmt: skip


@pytest.mark.usefixtures("light_detector")
@pytest.mark.parametrize("method", ["advsemseg", "gct", "ecs"])
def test_methods_with_networks_of_their_own_go_on_exactly(
    recoseg, tmp_path, small_deeplab, full_disk_at, require_same_end, method
) -> None:
    settings = [*small_deeplab, f"--method={method}", *QUICK_CONTRAST]
    settings += ["--augment.crop=96"] if method == "gct" else []
    assert recoseg("train", "--no-page", "--out", "whole", *settings).code == 0
    with full_disk_at(3):
        assert recoseg("train", "--no-page", "--out", "cut", *settings).code == 1
    assert recoseg("train", "--no-page", "--resume", "cut").code == 0
    require_same_end(tmp_path / "whole", tmp_path / "cut")
