"""Starting from the weights of an earlier run, and the habits of fine-tuning, through the command line."""

from __future__ import annotations

import torch
from safetensors.torch import load_file


def test_a_run_goes_on_from_the_weights_of_another_with_frozen_norms(recoseg, tmp_path, tiny) -> None:
    assert recoseg("train", "--out", "first", *tiny).code == 0
    outcome = recoseg(
        "train", "--out", "second", *tiny, "--model.weights", "first/weights.safetensors",
        "--model.frozen-batch-norm", "all", "--optimiser.head-lr-factor", "10",
        "--optimiser.decay-norms-and-biases", "false", "--train.channels-last", "true",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    assert "weights: weights.safetensors: all " in outcome.out
    assert "frozen:  " in outcome.out
    first, second = (load_file(tmp_path / run / "weights.safetensors") for run in ("first", "second"))
    norms = {name.rpartition(".")[0] for name in first if name.endswith("running_mean")}
    unchanged = {name for name in first if torch.equal(first[name], second[name])}
    assert unchanged == {name for name in first if name.rpartition(".")[0] in norms}


def test_the_weights_of_other_classes_are_refused_in_one_line(recoseg, tiny, photos) -> None:
    assert recoseg("train", "--out", "first", *tiny).code == 0
    own = [word for word in tiny if not word.startswith("--data")]
    words = [
        "train",
        "--data",
        str(photos),
        "--out",
        "own",
        *own,
        "--model.separable=false",
        "--model.weights",
        "first/weights.safetensors",
    ]
    outcome = recoseg(*words)
    assert outcome.code in (1, 2)
    assert outcome.err.count("\n") == 1
    assert "classifier.1 (" in outcome.err
    outcome = recoseg(*words, "--model.reinitialise", "true")
    assert outcome.code == 0, outcome.err
    assert "started afresh for their shape: classifier.1" in outcome.out


def test_deeplab_v2_trains(recoseg, tiny) -> None:
    own = [word for word in tiny if not word.startswith("--model")]
    outcome = recoseg("train", "--out", "run", *own, "--model", "deeplab_v2")
    assert outcome.code == 0, outcome.err
    assert "network: deeplab_v2, mobilenet_v2" in outcome.out
