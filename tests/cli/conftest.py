"""Running commands as a user would, in this process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from recoseg.cli.main import main


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def recoseg(capsys, monkeypatch, tmp_path):
    """`recoseg("train", "--out", ...)` in an empty folder, with the width of a usual terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def run(*words: object) -> Outcome:
        try:
            code = main([str(word) for word in words])
        except SystemExit as ended:  # argparse ends so after --help
            code = int(ended.code or 0)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def tiny() -> list[str]:
    """Settings that make a whole training run a matter of a second or two."""
    return [
        "--data.height=32", "--data.width=32", "--data.num-train=6", "--data.num-val=2",
        "--augment.crop=32", "--model.decoder-width=8", "--model.separable=true",
        "--train.iterations=4", "--train.labelled-per-step=2",
        "--train.evaluate-every=2", "--train.log-every=1",
    ]  # fmt: skip


@pytest.fixture
def photos(tmp_path) -> Path:
    """A folder of own images: eight photos of other sizes, six of them with labels of three classes."""
    generator = np.random.default_rng(0)
    root = tmp_path / "photos"
    for kind in ("images", "labels"):
        (root / kind).mkdir(parents=True)
    for number in range(8):
        height, width = int(generator.integers(20, 50)), int(generator.integers(20, 50))
        labels = np.zeros((height, width), dtype=np.uint8)
        labels[:, width // 2 :] = 1
        labels[height // 2 :] = 2
        image = generator.integers(0, 60, (height, width, 3)) + labels[..., None] * 90
        Image.fromarray(image.astype(np.uint8)).save(root / "images" / f"p{number}.jpg")
        if number < 6:
            Image.fromarray(labels).save(root / "labels" / f"p{number}.png")
    return root
