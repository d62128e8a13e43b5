"""benchmarks/clicks.py: simulated clicks end in lines, from which results/write_pages.py makes a table."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from recoseg.models.encoders import ENCODERS

ROOT = Path(__file__).parents[2]


@pytest.fixture
def script(monkeypatch):
    """`script("benchmarks/clicks.py")` as a module."""

    def load(path: str):
        spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        return module

    return load


def test_simulated_clicks_end_in_lines_and_a_table(two_tone, tmp_path, monkeypatch, script):
    (two_tone / "labels").mkdir()
    for number in range(6):
        labels = np.zeros((64, 96), np.uint8)
        labels[:, 32 + 6 * number :] = 1
        Image.fromarray(labels).save(two_tone / "labels" / f"{number}.png")
    torch.manual_seed(0)
    encoder = ENCODERS["resnet10_small"](output_stride=16)
    clicks, pages = script("benchmarks/clicks.py"), script("results/write_pages.py")
    monkeypatch.setattr(clicks, "pretrained_encoder", lambda: ("random", encoder))
    out = tmp_path / "clicks.jsonl"
    words = [str(two_tone), "--out", str(out), "--features", str(tmp_path / "features")]
    for _ in range(2):  # the second time, what is there is not done again
        clicks.main([*words, "--clicks", "10", "--seeds", "1"])
        lines = [json.loads(line) for line in out.read_text().splitlines()]
        assert [line["strategy"] for line in lines] == ["random", "uncertainty", "classes", "queue"]
        assert all(line["clicks"] == [10] and line["mean_iou"][0] > 0.7 for line in lines)
    monkeypatch.setattr(pages, "CLICKS", out)
    assert "| two_tone | queue | " in pages.clicks_table(pages.read_clicks())
    pages.draw_clicks(tmp_path / "clicks.svg", pages.read_clicks())
    assert (tmp_path / "clicks.svg").read_text().startswith("<?xml")
