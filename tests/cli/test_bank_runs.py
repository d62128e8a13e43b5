"""Runs with a feature bank, through the command line."""

from __future__ import annotations

import pytest

from recoseg.runs import build

BANK = [
    "--contrast.bank=confident",
    "--contrast.bank.above=0.1",
    "--contrast.bank.size=8",
    "--contrast.bank.per-step=4",
]


def test_a_run_with_a_bank_that_was_cut_short_ends_as_if_it_had_never_been(
    recoseg, tmp_path, small, classmix_and_contrast, full_disk_at, require_same_end
) -> None:
    settings = [
        *small,
        *classmix_and_contrast,
        *BANK,
        "--method.supervised-start=1",
        "--contrast.bank.warm-up=1",
    ]
    assert recoseg("train", "--out", "whole", *settings).code == 0
    with full_disk_at(3):
        assert recoseg("train", "--out", "cut", *settings).code == 1
    outcome = recoseg("train", "--resume", "cut")
    assert outcome.code == 0, outcome.err
    require_same_end(tmp_path / "whole", tmp_path / "cut")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (["--contrast.bank=teacher"], "contrast.bank teacher: supervised has no moving average"),
        (["--contrast.bank.warm-up=4"], "4 steps last to the end of the run"),
        (["--contrast.bank.size=5"], "contrast.bank.per_step: got 16, needs at most the size of the bank, 5"),
        (["--contrast.bank.size=0"], "contrast.bank.size: must be at least 1"),
        (
            ["--contrast.bank=confident", "--contrast.bank.above=1.1"],
            "contrast.bank.above: must be at most 1",
        ),
    ],
)
def test_a_bank_that_cannot_serve_is_refused_in_one_line(recoseg, tmp_path, small, settings, says) -> None:
    outcome = recoseg("train", "--out", "run", *small, *settings)
    assert (outcome.code in (1, 2), outcome.err.count("\n")) == (True, 1)
    assert says in outcome.err
    assert not (tmp_path / "run" / "metrics.jsonl").exists()


def test_a_bank_that_memory_holds_no_three_times_is_refused_in_one_line(
    recoseg, tmp_path, small, monkeypatch
) -> None:
    """16 classes of 1,000 features of 256 channels are 16.4 MB; while a state is saved, there are three."""
    monkeypatch.setattr(build, "machine_bytes", lambda: 49 * 10**6)
    outcome = recoseg("train", "--out", "run", *small, "--contrast.bank.size=1000")
    assert (outcome.code in (1, 2), outcome.err.count("\n")) == (True, 1)
    assert "contrast.bank.size: 1,000 features of each of" in outcome.err
    assert "3 times that while a state is saved, and this machine has 0.0" in outcome.err
    assert not (tmp_path / "run").exists()
    monkeypatch.setattr(build, "machine_bytes", lambda: 50 * 10**6)
    assert recoseg("train", "--out", "run", *small, "--contrast.bank.size=1000").code == 0


def test_a_bank_that_its_device_cannot_hold_is_refused_in_one_line(
    recoseg, tmp_path, small, monkeypatch
) -> None:
    monkeypatch.setattr(build, "device_bytes", lambda device: 16 * 10**6)
    outcome = recoseg("train", "--out", "run", *small, "--contrast.bank.size=1000")
    assert (outcome.code in (1, 2), outcome.err.count("\n")) == (True, 1)
    assert "take 0.0 GB, and the device that it lies on has 0.0; take fewer" in outcome.err
    assert not (tmp_path / "run").exists()
