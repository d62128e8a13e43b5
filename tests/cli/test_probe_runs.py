"""`--method probe`: an ordinary run without steps; and trainings that start from it."""

from __future__ import annotations

import json
import shutil

import pytest
import torch
import yaml

from recoseg.cli.main import main
from recoseg.probe import fit_probe
from recoseg.runs.run import Run
from recoseg.splits.label_split import LabelSplit
from recoseg.training.run_folder import RunFolder

SMALL = [
    "--data=scenes", "--data.height=48", "--data.width=64", "--data.num_train=12", "--data.num_val=4",
    "--split.labels=4", "--augment.crop=48x64", "--model.encoder=resnet10_small", "--model.decoder_width=16",
    "--model.separable=true", "--model.start=probe", "--model.frozen_batch_norm=encoder",
    "--optimiser=adamw", "--optimiser.lr=0.0001",
]  # fmt: skip
MIX = ["--method=mean_teacher", "--train.labelled_per_step=2", "--train.log_every=2"]


def trained(out, *words: str) -> RunFolder:
    assert main(["train", *SMALL, *words, "--out", str(out)]) == 0
    return RunFolder(out)


def test_a_run_of_the_probe_can_be_evaluated_predicted_with_and_shown(tmp_path, capsys) -> None:
    folder = trained(tmp_path / "run", "--method=probe")
    assert "linear probe of the frozen features" in capsys.readouterr().out
    (line,) = folder.read_metrics()
    assert line["iteration"] == 0
    assert line["mean_iou"] > 0.1
    assert "probe of the frozen features" not in folder.page.read_text(
        encoding="utf-8"
    )  # nothing to compare with
    assert main(["evaluate", str(folder.path)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert f"mean {100 * line['mean_iou']:.1f}" in printed
    again = tmp_path / "again"
    shutil.copytree(folder.path, again)
    assert main(["train", "--resume", str(again)]) == 0
    assert RunFolder(again).read_metrics() == [line]
    assert folder.weights.read_bytes() == (again / folder.weights.name).read_bytes()


def test_a_training_starts_as_the_probe_and_says_what_it_added(tmp_path) -> None:
    probe = trained(tmp_path / "probe", "--method=probe")
    folder = trained(tmp_path / "run", *MIX, "--train.iterations=4", "--train.evaluate_every=4")
    first, last = folder.read_metrics()
    assert (first["iteration"], last["iteration"]) == (0, 4)
    assert first["iou"] == probe.read_metrics()[0]["iou"]
    assert "Linear probe of the frozen features" in folder.page.read_text(encoding="utf-8")


def test_a_training_that_ends_below_its_start_says_so(tmp_path, capsys) -> None:
    trained(tmp_path / "run", "--train.iterations=6", "--train.labelled_per_step=2", "--optimiser.lr=0.05")
    assert "warning: training ended below its start" in capsys.readouterr().out


def test_unlabelled_images_join_at_the_first_step(tmp_path) -> None:
    folder = trained(tmp_path / "run", *MIX, "--train.iterations=4")
    method = yaml.safe_load(folder.config.read_text(encoding="utf-8"))["method"]
    assert (method["supervised_start"], method["ramp"]) == (0, 0)
    parts = [json.loads(line) for line in folder.losses.read_text(encoding="utf-8").splitlines()]
    assert "unsupervised" in parts[0]


def test_a_killed_training_goes_on_without_fitting_the_probe_again(tmp_path, monkeypatch) -> None:
    whole = trained(tmp_path / "whole", *MIX, "--train.iterations=6", "--train.evaluate_every=3")
    part = trained(tmp_path / "part", *MIX, "--train.iterations=6", "--train.evaluate_every=3")
    state = torch.load(part.path / "state.previous.pt", weights_only=True)
    assert state["iteration"] == 3
    shutil.copy(part.path / "state.previous.pt", part.state)
    monkeypatch.setattr("recoseg.runs.start.fit_probe", None)
    assert main(["train", "--resume", str(part.path)]) == 0
    assert part.weights.read_bytes() == whole.weights.read_bytes()
    assert part.metrics.read_bytes() == whole.metrics.read_bytes()


def test_an_older_run_opens_as_a_network_without_a_probe(tmp_path) -> None:
    words = [word for word in SMALL if word != "--model.start=probe"]
    assert main(["train", *words, "--train.iterations=2", "--out", str(tmp_path / "run")]) == 0
    folder = RunFolder(tmp_path / "run")
    config = yaml.safe_load(folder.config.read_text(encoding="utf-8"))
    del config["model"]["start"]
    folder.config.write_text(yaml.safe_dump(config), encoding="utf-8")
    assert Run.open(folder.path).network.probe is None


def test_steps_are_needed_by_all_other_methods(capsys) -> None:
    assert main(["train", *SMALL, "--train.iterations=0"]) != 0
    assert "only method probe trains without steps" in capsys.readouterr().err


def test_images_held_back_to_choose_weights_are_not_fitted_to(tmp_path, monkeypatch) -> None:
    fitted: list[str] = []

    def noted(network, dataset, keys, *arguments, **settings):
        fitted.extend(keys)
        return fit_probe(network, dataset, keys, *arguments, **settings)

    monkeypatch.setattr("recoseg.runs.start.fit_probe", noted)
    folder = trained(
        tmp_path / "run", "--train.iterations=2", "--train.labelled_per_step=2", "--train.best_on=labelled"
    )
    assert len(fitted) == 3
    assert set(fitted) < set(LabelSplit.load(folder.split).labelled)


@pytest.mark.parametrize(
    ("word", "named"), [("--contrast=reco", "contrast"), ("--model.weights=a.pth", "weights")]
)
def test_what_has_no_effect_on_a_probe_is_refused(capsys, word, named) -> None:
    assert main(["train", *SMALL, "--method=probe", word]) != 0
    assert f"{named}: has no effect with method probe" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["deeplab_v2", "deeplab_v3_plus"])
def test_both_deeplabs_start_from_a_probe(tmp_path, name) -> None:
    words = [word for word in SMALL if "decoder_width" not in word and "separable" not in word]
    out = tmp_path / "run"
    assert (
        main(["train", *words, f"--model={name}", "--model.start=probe", "--method=probe", "--out", str(out)])
        == 0
    )
    assert Run.open(out).network.probe is not None
