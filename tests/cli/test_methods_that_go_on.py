"""PseudoSeg, DMT and S4GAN through the command line: exact after a break, and refused in one line."""

from __future__ import annotations

import pytest

CONTRAST = [
    "--contrast=reco", "--contrast.num-queries=8", "--contrast.num-keys=16", "--contrast.feature-channels=8",
    "--contrast.trust-above=0.05",
]  # fmt: skip
METHODS = {
    "pseudoseg": ["--method=pseudoseg", "--model.factory=small_network:divided"],
    "dmt, in a round": ["--method=dmt", "--method.supervised-start=1", "--method.rounds=1"],
    "dmt, between rounds": ["--method=dmt", "--method.supervised-start=0", "--method.rounds=2"],
    "s4gan": ["--method=s4gan", "--method.supervised-start=0"],
    "s4gan, at rest": ["--method=s4gan", "--method.supervised-start=3"],
}


@pytest.mark.parametrize("method", METHODS)
def test_a_run_that_was_cut_short_ends_as_if_it_had_never_been(
    recoseg, tmp_path, small, full_disk_at, require_same_end, method
) -> None:
    settings = [*small, *METHODS[method], *CONTRAST]
    assert recoseg("train", "--out", "whole", *settings).code == 0
    with full_disk_at(3):
        assert recoseg("train", "--out", "cut", *settings).code == 1
    outcome = recoseg("train", "--resume", "cut")
    assert outcome.code == 0, outcome.err
    require_same_end(tmp_path / "whole", tmp_path / "cut")


@pytest.mark.parametrize("method", ["pseudoseg", "dmt, in a round"])
def test_a_few_labelled_pixels_of_each_image_are_enough(recoseg, small, method) -> None:
    settings = [word for word in small if not word.startswith("--split.")]
    outcome = recoseg("train", "--out", "run", *settings, *METHODS[method], *CONTRAST, "--split.pixels=1")
    assert outcome.code == 0, outcome.err


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (["--method=pseudoseg"], "works on what lies between encoder and decoder"),
        (["--method=pseudoseg", "--method.present-above=1.5"], "method.present_above: must be at most 1"),
        (["--method=dmt", "--method.rounds=0"], "method.rounds: must be at least 1"),
        (["--method=dmt", "--method.supervised-start=4"], "method.supervised_start"),
    ],
)
def test_what_cannot_serve_is_refused_in_one_line(recoseg, small, settings, says) -> None:
    outcome = recoseg("train", "--out", "run", *small, *settings)
    assert (outcome.code in (1, 2), outcome.err.count("\n")) == (True, 1)
    assert says in outcome.err


def test_dmt_without_a_second_start_is_refused_in_one_line(recoseg, trained_run, small) -> None:
    weights = trained_run("run", *small) / "weights.safetensors"
    outcome = recoseg("train", "--out", "other", *small, "--method=dmt", f"--model.weights={weights}")
    assert (outcome.code in (1, 2), outcome.err.count("\n")) == (True, 1)
    assert "dmt needs two networks that start differently" in outcome.err
