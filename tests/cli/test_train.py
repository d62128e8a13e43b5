"""Whole training runs through the command line."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import numpy as np
import torch
import yaml
from PIL import Image
from safetensors.torch import load_file

from recoseg import Run, load
from recoseg.data.folder import Folder
from recoseg.training import trainer as trainer_module


def test_a_run_leaves_everything_it_promises(recoseg, tmp_path, tiny, lines) -> None:
    outcome = recoseg("train", "--out", "runs/first", *tiny, "--model.encoder=mobilenet_v2")
    assert outcome.code == 0, outcome.err
    run = tmp_path / "runs" / "first"
    names = {path.name for path in run.iterdir()}
    promised = {
        "config.yaml",
        "split.json",
        "metrics.jsonl",
        "losses.jsonl",
        "weights.safetensors",
        "state.pt",
        "report",
    }
    assert promised <= names
    assert any(name.startswith("events.out.tfevents") for name in names)
    assert not any(name.endswith(".part") for name in names)
    assert yaml.safe_load((run / "config.yaml").read_text())["train"]["iterations"] == 4
    assert len(json.loads((run / "split.json").read_text())["labelled"]) == 6
    metrics = lines(run / "metrics.jsonl")
    assert [line["iteration"] for line in metrics] == [2, 4]
    assert 0 <= metrics[-1]["mean_iou"] <= 1
    assert [line["iteration"] for line in lines(run / "losses.jsonl")] == [1, 2, 3, 4]
    assert "<html" in (run / "report" / "index.html").read_text(encoding="utf-8")
    assert "mean IoU" in outcome.out
    assert "runs/first/report/index.html" in outcome.out


def test_the_page_can_be_left_out_and_written_later(recoseg, tmp_path, small) -> None:
    outcome = recoseg("train", "--out", "run", "--no-page", *small)
    assert (outcome.code, outcome.out.splitlines()[-1]) == (0, "run folder: run")
    assert not (tmp_path / "run" / "report").exists()
    assert not (tmp_path / "run" / "survey.json").exists()
    assert recoseg("report", "run").code == 0
    assert (tmp_path / "run" / "report" / "index.html").is_file()


def test_the_scores_are_those_of_the_saved_weights(recoseg, tmp_path, tiny, lines) -> None:
    from recoseg.config import load
    from recoseg.data.build import build_dataset
    from recoseg.evaluate.loop import evaluate
    from recoseg.models.build import build_model

    recoseg("train", "--out", "run", *tiny)
    config = load(tmp_path / "run" / "config.yaml")
    dataset = build_dataset(config.data)
    model = build_model(config.model, len(dataset.classes), seed=99)
    model.load_state_dict(load_file(tmp_path / "run" / "weights.safetensors"))
    scores = evaluate(model, dataset, dataset.keys("val"), device=torch.device("cpu"))
    assert scores.confusion.tolist() == lines(tmp_path / "run" / "metrics.jsonl")[-1]["confusion"]


def test_training_learns(recoseg, tmp_path, tiny, lines) -> None:
    """The loss of a small network on a handful of images falls well below its start."""
    more = ["--train.iterations=60", "--train.evaluate-every=60", "--optimiser.lr=0.05", "--augment.jitter=0"]
    assert recoseg("train", "--out", "run", *tiny, *more).code == 0
    losses = [line["loss"] for line in lines(tmp_path / "run" / "losses.jsonl")]
    assert sum(losses[-10:]) < 0.6 * sum(losses[:10])


def test_own_images_of_any_size_with_labels_for_some(recoseg, tmp_path, photos, small, lines) -> None:
    settings = [word for word in small if not word.startswith(("--data.", "--split."))]
    outcome = recoseg("train", "--data", photos, "--out", "run", *settings)
    assert outcome.code == 0, outcome.err
    split = json.loads((tmp_path / "run" / "split.json").read_text())
    val = [line for line in (photos / "val.txt").read_text().splitlines() if not line.startswith("#")]
    assert val
    assert sorted([*split["labelled"], *split["unlabelled"], *val]) == [f"p{number}" for number in range(8)]
    assert {"p6", "p7"} <= set(split["unlabelled"])
    assert len(lines(tmp_path / "run" / "metrics.jsonl")[-1]["iou"]) == 3


def test_fewer_labels_on_request_and_the_split_can_be_used_again(recoseg, tmp_path, small) -> None:
    settings = [word for word in small if not word.startswith("--split.")]
    assert recoseg("train", "--out", "a", *settings, "--split.labels", "2").code == 0
    assert len(json.loads((tmp_path / "a" / "split.json").read_text())["labelled"]) == 2
    assert recoseg("train", "--out", "b", *settings, "--split.file", "a/split.json").code == 0
    assert (tmp_path / "a" / "split.json").read_text() == (tmp_path / "b" / "split.json").read_text()
    other = recoseg("train", "--out", "c", *settings, "--data.num-train=3", "--split.file", "a/split.json")
    assert (other.code, other.err.count("\n")) == (1, 1)
    assert "does not fit" in other.err


def test_runs_are_numbered_when_no_name_is_given(recoseg, tmp_path, small) -> None:
    (tmp_path / "runs" / "006").mkdir(parents=True)  # the others are gone: their numbers are not used again
    for _ in range(2):
        assert recoseg("train", *small, "--train.iterations=1").code == 0
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["006", "007", "008"]


def test_a_folder_in_use_is_refused_and_left_alone(recoseg, tmp_path, small) -> None:
    assert recoseg("train", "--out", "run", *small, "--train.iterations=1").code == 0
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*")}
    outcome = recoseg("train", "--out", "run", *small)
    assert outcome.code == 1
    assert "already holds a run: go on with --resume run" in outcome.err
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*")} == before


def test_a_read_only_place_is_one_clear_line(recoseg, tmp_path, small, monkeypatch) -> None:
    def refuse(self, *arguments, **settings):
        raise PermissionError(
            13, "Permission denied", str(self)
        )  # what a folder of mode 500 says to all but root

    monkeypatch.setattr(Path, "mkdir", refuse)
    outcome = recoseg("train", "--out", "locked/run", *small)
    assert (outcome.code, outcome.err) == (1, "recoseg: locked/run: Permission denied\n")


def test_a_place_where_no_folder_can_be_is_one_clear_line(recoseg, tmp_path, small) -> None:
    (tmp_path / "file").write_text("")
    outcome = recoseg("train", "--out", "file/run", *small)
    assert outcome.code == 1
    assert outcome.err == "recoseg: file/run: Not a directory\n"


def test_a_disk_that_fills_up_keeps_the_last_good_state(recoseg, tmp_path, small, monkeypatch) -> None:
    save_state = trainer_module.save_state

    def full_the_second_time(path, iteration, parts):
        if iteration > 2:
            raise OSError(28, "No space left on device", str(path))
        save_state(path, iteration, parts)

    monkeypatch.setattr(trainer_module, "save_state", full_the_second_time)
    outcome = recoseg("train", "--out", "run", *small)
    assert outcome.code == 1
    assert "No space left on device" in outcome.err
    assert torch.load(tmp_path / "run" / "state.pt", weights_only=True)["iteration"] == 2


def test_ctrl_c_between_two_log_lines_resumes_to_the_same_logs(
    recoseg, tmp_path, small, monkeypatch, require_same_end
) -> None:
    slow_log = [*small, "--train.log-every=3", "--train.evaluate-every=4"]
    assert recoseg("train", "--out", tmp_path / "whole", *slow_log).code == 0
    original = trainer_module.Trainer.step

    def press_ctrl_c(self, method, pairs, iteration, log):
        if iteration == 1:
            os.kill(os.getpid(), signal.SIGINT)
        return original(self, method, pairs, iteration, log)

    monkeypatch.setattr(trainer_module.Trainer, "step", press_ctrl_c)
    outcome = recoseg("train", "--out", tmp_path / "cut", *slow_log)
    assert outcome.code == 130
    assert "stopped after iteration 2; go on with: recoseg train --resume" in outcome.err
    monkeypatch.setattr(trainer_module.Trainer, "step", original)
    assert recoseg("train", "--resume", tmp_path / "cut").code == 0
    require_same_end(tmp_path / "whole", tmp_path / "cut")


def test_a_loss_that_is_not_finite_stops_with_its_place(recoseg, tmp_path, small) -> None:
    outcome = recoseg("train", "--out", "run", *small, "--optimiser.lr=1e18", "--train.iterations=50")
    assert outcome.code == 1
    assert "at iteration" in outcome.err
    assert "train/0000" in outcome.err


def test_one_labelled_image_is_enough_to_train(recoseg, small) -> None:
    assert recoseg("train", "--out", "run", *small, "--split.labels=1").code == 0


def test_one_image_in_a_step_is_a_clear_line(recoseg, tiny) -> None:
    outcome = recoseg("train", "--out", "run", *tiny, "--train.labelled-per-step=1")
    assert outcome.code == 1
    assert "at least 2 images in a training batch" in outcome.err


def test_a_crop_larger_than_the_image_is_padded(recoseg, small) -> None:
    assert recoseg("train", "--out", "run", *small, "--augment.crop=48x64").code == 0


def test_one_class_only_is_a_clear_line(recoseg, photos, small) -> None:
    (photos / "classes.json").write_text('{"names": ["leaf", "unknown"], "ignore_index": 1}')
    settings = [word for word in small if not word.startswith(("--data.", "--split."))]
    outcome = recoseg("train", "--data", photos, "--out", "run", *settings)
    assert outcome.code == 1
    assert "the dataset has one class only, 'leaf'" in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_damaged_image_in_the_middle_of_training_is_one_line(recoseg, photos, small) -> None:
    folder = Folder(root=photos)
    for path in [folder.entry(key).image for key in folder.keys("train")]:
        path.write_bytes(path.read_bytes()[:-300])
    settings = [word for word in small if not word.startswith(("--data.", "--split."))]
    for number, workers in enumerate((0, 1)):
        outcome = recoseg(
            "train", "--data", photos, "--out", f"run{number}", *settings, f"--train.workers={workers}"
        )
        assert outcome.code == 1
        assert "damaged or cut short" in outcome.err
        assert outcome.err.count("\n") == 1
        assert (photos.parent / f"run{number}").is_dir()  # it had begun


def test_an_error_of_the_run_ends_its_loading_processes_too(background, tmp_path, small) -> None:
    (tmp_path / "failing_network.py").write_text(
        "from small_network import small\n"
        "def failing(num_classes):\n"
        "    network = small(num_classes)\n"
        "    network.register_forward_pre_hook(fail)\n"
        "    return network\n"
        "def fail(network, inputs):\n"
        "    if network.training:\n"
        "        raise RuntimeError('a layer of mine failed')\n"
    )
    settings = [*small, "--model.factory=failing_network:failing", "--train.workers=1"]
    outcome = background("train", "--out", "run", *settings).wait()  # and does not wait for them forever
    assert outcome.code == 1
    assert outcome.err.strip().splitlines()[-1].endswith("RuntimeError: a layer of mine failed")


def test_16_bit_images_keep_the_scale_of_training(recoseg, tmp_path, photos, small, monkeypatch) -> None:
    settings = [word for word in small if not word.startswith(("--data.", "--split."))]
    for path in sorted((photos / "images").iterdir()):
        grey = np.asarray(Image.open(path).convert("L")).astype(np.uint16)
        Image.fromarray(grey * 16).save(path.with_suffix(".tif"))
        path.unlink()
    Image.fromarray(np.full((20, 20), 4095, dtype=np.uint16)).save(photos / "images" / "white.tif")
    outcome = recoseg("train", "--data", photos, "--out", "run", *settings)
    assert outcome.code == 0, outcome.err
    assert "12 of 16 bits hold data: 0-4095" in outcome.out
    run = Run.open(tmp_path / "run", trust=True)
    assert run.config.data.bit_depth == 12
    assert run.predict.bit_depth == load(tmp_path / "run", trust=True).bit_depth == 12
    assert run.predict(photos / "images" / "white.tif").image.min() == 255
    assert run.dataset.image("white").min() == 255
    assert run.with_data(["--data", "photos", "--data.val-share=0.5"]).config.data.bit_depth == 12
    assert recoseg("train", "--resume", "run", "--train.iterations=6").code == 0

    more = tmp_path / "more"
    more.mkdir()
    Image.fromarray(np.full((20, 20), 9000, dtype=np.uint16)).save(more / "brighter.tif")
    Image.fromarray(np.full((20, 20), 90, dtype=np.uint16)).save(more / "darker.tif")
    outcome = recoseg("predict", "run", more, "-o", "out", "--no-overlay", "--trust")
    assert outcome.code == 0, outcome.err
    (note,) = [line for line in outcome.err.splitlines() if line.startswith("note: ")]
    assert "brighter.tif: values up to 9000; this run has 12 bits" in note
