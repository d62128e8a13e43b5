"""A run folder is claimed once, written whole, and read back with care."""

from __future__ import annotations

import fcntl
import json
from threading import Timer

import pytest
import torch
from safetensors import safe_open

from recoseg.errors import UserError
from recoseg.models.weights import save_weights
from recoseg.splits.label_split import LabelSplit
from recoseg.training.run_folder import RunFolder, append_line

SPLIT = LabelSplit(("a",), ("b",), "scenes", "0123", "all_labels")
METRICS = {
    "mean_iou": 0.5, "accuracy": 0.6, "iou": [0.5, None], "class_accuracy": [0.6, None],
    "confusion": [[3, 2], [0, 0]], "losses": {"loss": 1.5},
}  # fmt: skip
LOSSES = {"lr": 0.1, "loss": 1.5, "supervised": 1.5, "seconds": 2.25, "waited": 0.5}


def new(path) -> RunFolder:
    return RunFolder.create(path, config_yaml="train: {}\n", split=SPLIT)


def test_a_second_run_never_overwrites_the_first(tmp_path) -> None:
    new(tmp_path / "run")
    with pytest.raises(UserError, match="already holds a run: go on with --resume"):
        new(tmp_path / "run")


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(UserError, match="not an empty folder"):
        new(tmp_path)
    with pytest.raises(UserError, match="not an empty folder"):
        new(tmp_path / "thesis.txt")


def test_only_one_process_trains_in_a_folder(tmp_path) -> None:
    folder = new(tmp_path / "run")
    claim = folder.lock()
    with pytest.raises(UserError, match="in use by another process"):
        folder.lock()
    assert folder.is_in_use()
    claim.close()
    assert not folder.is_in_use()
    folder.lock().close()


def test_a_look_at_the_lock_does_not_keep_a_run_from_it(tmp_path) -> None:
    """Whoever asks whether a folder is in use holds its lock for a moment."""
    folder = RunFolder(tmp_path)
    folder.lock().close()
    looking = (tmp_path / ".lock").open("rb")
    fcntl.flock(looking, fcntl.LOCK_SH)
    Timer(0.2, looking.close).start()
    folder.lock().close()


def test_asking_whether_a_folder_is_in_use_leaves_no_trace(tmp_path) -> None:
    folder = new(tmp_path / "run")
    before = sorted(path.name for path in folder.path.iterdir())
    assert not folder.is_in_use()
    assert sorted(path.name for path in folder.path.iterdir()) == before


def test_opening_what_is_not_a_run_says_so(tmp_path) -> None:
    with pytest.raises(UserError, match="no run folder at"):
        RunFolder.open(tmp_path / "nowhere")
    with pytest.raises(UserError, match=r"is not a run of recoseg: it has no config\.yaml"):
        RunFolder.open(tmp_path)
    (tmp_path / "config.yaml").write_text("epochs: 3\n")  # many programs have one
    with pytest.raises(UserError, match=r"is not a run of recoseg: it has no split\.json"):
        RunFolder.open(tmp_path)


def test_weights_carry_what_they_are_about(tmp_path) -> None:
    folder = new(tmp_path / "run")
    save_weights(folder.weights, {"w": torch.ones(2, 2).t()}, {"classes": ["road", "sky"]})
    with safe_open(folder.weights, framework="pt") as file:
        assert file.get_tensor("w").tolist() == [[1, 1], [1, 1]]
        assert json.loads(file.metadata()["recoseg"]) == {"classes": ["road", "sky"]}


def test_log_lines_after_the_resumed_iteration_are_forgotten(tmp_path) -> None:
    folder = new(tmp_path / "run")
    for iteration in (10, 20, 30):
        append_line(folder.metrics, {"iteration": iteration, **METRICS})
        append_line(folder.losses, {"iteration": iteration, **LOSSES})
    kept = [path.read_text().splitlines(keepends=True)[:2] for path in (folder.metrics, folder.losses)]
    folder.cut_logs(20)
    assert [line["iteration"] for line in folder.read_metrics()] == [10, 20]
    assert folder.read_losses()[-1] == {"iteration": 20, **LOSSES}
    assert [folder.metrics.read_text(), folder.losses.read_text()] == ["".join(lines) for lines in kept]


def test_a_line_cut_short_by_a_crash_is_passed_over(tmp_path) -> None:
    folder = new(tmp_path / "run")
    append_line(folder.losses, {"iteration": 10, **LOSSES})
    with folder.losses.open("a") as file:
        file.write('{"iteration": 20, "lo')
    assert folder.read_losses() == [{"iteration": 10, **LOSSES}]
    with folder.losses.open("a") as file:
        file.write("\n")
    with pytest.raises(UserError, match=r"losses\.jsonl line 2: not JSON, or cut short"):
        folder.read_losses()


def test_half_a_beginning_is_begun_again_but_not_a_split_of_ones_own(tmp_path) -> None:
    """What is left after each step of beginning a run, if the process dies there."""
    path = tmp_path / "run"
    path.mkdir()
    (path / "split.json").write_text("mine")
    with pytest.raises(UserError, match="not an empty folder"):
        new(path)
    assert (path / "split.json").read_text() == "mine"
    (path / ".lock").touch()
    (path / ".config.yaml.0a_b1c2d.part").write_text("half")
    assert RunFolder(path).is_free()
    assert LabelSplit.load(new(path).split) == SPLIT
    assert sorted(file.name for file in path.iterdir()) == [".lock", "config.yaml", "split.json"]


def test_of_two_that_begin_in_one_folder_the_second_finds_it_taken(tmp_path, monkeypatch) -> None:
    """It looked at the folder when that was still empty."""
    faster, lock = [], RunFolder.lock

    def late(folder):
        if not faster:
            faster.append(True)
            RunFolder.create(folder.path, config_yaml="the first one's\n", split=SPLIT)
        return lock(folder)

    monkeypatch.setattr(RunFolder, "lock", late)
    with pytest.raises(UserError, match="already holds a run"):
        new(tmp_path / "run")
    assert (tmp_path / "run" / "config.yaml").read_text() == "the first one's\n"
