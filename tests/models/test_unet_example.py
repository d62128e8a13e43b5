"""The example of a network of one's own runs as it stands, and learns."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
import torch

from recoseg import with_representation


def test_the_example_runs_and_its_loss_falls(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.manual_seed(0)
    runpy.run_path(str(repository / "examples" / "unet.py"), run_name="__main__")
    losses = [float(line.split()[-1]) for line in capsys.readouterr().out.splitlines()]
    assert len(losses) == 10
    assert losses[-1] < losses[0] - 0.3


def test_the_plain_network_refuses_what_the_wrapped_one_takes(repository: Path) -> None:
    unet = runpy.run_path(str(repository / "examples" / "unet.py"))["unet"]
    with pytest.raises(RuntimeError, match="Sizes of tensors must match"):
        unet(3)(torch.rand(2, 3, 63, 65))
    output = with_representation(unet(3), num_classes=3)(torch.rand(2, 3, 63, 65))
    assert output.logits.shape == (2, 3, 63, 65)
