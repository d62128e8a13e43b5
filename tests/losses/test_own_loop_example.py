"""The example of a training loop of one's own runs as it stands, and learns."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
import torch


def test_the_example_runs_and_its_loss_falls(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.manual_seed(0)
    runpy.run_path(str(repository / "examples" / "own_loop.py"))
    losses = [float(line.split()[-1]) for line in capsys.readouterr().out.splitlines()]
    assert len(losses) == 10
    assert losses[-1] < losses[0] - 0.3
