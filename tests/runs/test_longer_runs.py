"""A finished run goes on when more iterations are asked for, and says how."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recoseg.cli.main import main

SMALL = [
    "--data=scenes", "--data.height=32", "--data.width=64", "--data.num_train=4", "--data.num_val=2",
    "--augment.crop=32x64", "--model.encoder=resnet10_small", "--model.decoder_width=32",
    "--train.evaluate_every=2", "--train.labelled_per_step=2", "--train.log_every=1",
]  # fmt: skip


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    path = tmp_path / "run"
    assert main(["train", "--no-page", "--out", str(path), *SMALL, "--train.iterations=4"]) == 0
    return path


def test_more_iterations_go_on_from_the_last_one(finished: Path, capsys) -> None:
    assert main(["train", "--no-page", "--resume", str(finished), "--train.iterations=8"]) == 0
    told = capsys.readouterr().out
    assert "longer:  8 iterations instead of 4; from there on the learning rate is that of a run of 8" in told
    assert "54% of the first" in told  # (1 - 4 / 8) ** 0.9
    lines = [json.loads(line) for line in (finished / "losses.jsonl").read_text().splitlines()]
    assert [line["iteration"] for line in lines] == list(range(1, 9))
    assert "iterations: 8" in (finished / "config.yaml").read_text()
    assert main(["train", "--no-page", "--resume", str(finished)]) == 0
    assert "all 8 iterations are done" in capsys.readouterr().out


def test_what_is_done_tells_how_to_get_more(finished: Path, capsys) -> None:
    assert main(["train", "--no-page", "--resume", str(finished)]) == 0
    assert f"for more: recoseg train --resume {finished} --train.iterations 8" in capsys.readouterr().out


def test_fewer_iterations_and_other_settings_are_refused(finished: Path, capsys) -> None:
    before = (finished / "config.yaml").read_text()
    assert main(["train", "--resume", str(finished), "--train.iterations=2"]) == 1
    assert "train.iterations 4 -> 2" in capsys.readouterr().err
    assert main(["train", "--resume", str(finished), "--train.iterations=8", "--optimiser.lr=1"]) == 1
    assert "optimiser.lr" in capsys.readouterr().err
    assert (finished / "config.yaml").read_text() == before
