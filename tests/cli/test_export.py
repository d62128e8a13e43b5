"""`recoseg export`, as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from PIL import Image

import recoseg as package
from recoseg.export import formats
from recoseg.export.formats import Format

EXAMPLE = Path(__file__).parents[2] / "examples" / "run_onnx.py"


@pytest.fixture
def trained(trained_run, tiny):
    return trained_run("run", *tiny)


@pytest.fixture(scope="module")
def exports_of_before() -> dict[str, tuple[Any, bytes]]:
    return {}


@pytest.fixture
def export(recoseg, trained, exports_of_before):
    """`export("onnx")`: what the command says of that run, and its file; done once for all tests."""

    def once(kind: str):
        file = trained / f"model{formats.FORMATS[kind].ending}"
        if kind not in exports_of_before:
            outcome = recoseg("export", trained, "--format", kind)
            assert outcome.code == 0, outcome.err
            exports_of_before[kind] = outcome, file.read_bytes()
        file.write_bytes(exports_of_before[kind][1])
        return exports_of_before[kind][0]

    return once


@pytest.mark.parametrize(("kind", "file"), [("onnx", "model.onnx"), ("torch", "model.pt2")])
def test_a_run_is_exported_and_checked_against_itself(recoseg, trained, export, kind, file):
    if kind == "onnx":
        pytest.importorskip("onnxscript", reason="writes ONNX files")
    outcome = export(kind)
    written = formats.FORMATS[kind].run((trained / file).read_bytes())
    assert written(torch.zeros(1, 3, 20, 30, dtype=torch.uint8)).shape == (1, 16, 20, 30)
    assert "any height and width" in outcome.out
    assert outcome.out.count("largest difference") == 2  # on noise and on validation images
    again = recoseg("export", trained, "--format", kind)
    assert again.code == 1
    assert "--force" in again.err


def test_without_its_data_a_run_is_exported_all_the_same(recoseg, trained):
    config = yaml.safe_load((trained / "config.yaml").read_text())
    config["data"] = {"name": "folder", "root": "gone"}
    (trained / "config.yaml").write_text(yaml.safe_dump(config))
    outcome = recoseg("export", trained, "--format", "torch", "--size", "32x48", "-o", "out/net.pt2")
    assert outcome.code == 0, outcome.err
    assert "not checked on real images" in outcome.out
    assert Path("out/net.pt2").is_file()


def test_the_bit_depth_of_training_is_told_and_kept_in_the_file(recoseg, trained, photos):
    config = yaml.safe_load((trained / "config.yaml").read_text())
    config["data"] = {"name": "folder", "root": str(photos), "bit_depth": 12}
    (trained / "config.yaml").write_text(yaml.safe_dump(config))
    outcome = recoseg("export", trained, "--format", "torch", "--size", "32x48")
    assert outcome.code == 0, outcome.err
    assert "12 of 16 bits hold data: 0-4095" in outcome.out
    extra = {"recoseg.json": ""}
    torch.export.load(trained / "model.pt2", extra_files=extra)
    assert json.loads(extra["recoseg.json"])["bit_depth"] == 12


def test_each_stage_of_an_export_is_told_as_it_begins(recoseg, trained):
    outcome = recoseg("export", trained, "--format", "torch", "--size", "32x48")
    assert outcome.code == 0, outcome.err
    assert [line[: line.index(":")].split(",")[-1].strip() for line in outcome.err.splitlines()] == [
        "1 of 3", "2 of 3", "3 of 3",
    ]  # fmt: skip


def test_packages_that_an_export_needs_are_named_before_any_work(recoseg, trained, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.setattr(formats, "program", lambda *_: pytest.fail("it has begun"))
    outcome = recoseg("export", trained)
    assert outcome.code == 1
    assert "onnxruntime: pip install 'recoseg[onnx]'" in outcome.err


def test_an_export_that_differs_is_not_written(recoseg, trained, monkeypatch):
    honest = formats.FORMATS["torch"]

    def run(content):
        program = honest.run(content)
        return lambda images: program(images) + 1

    lying = Format(".pt2", honest.write, run)
    monkeypatch.setitem(formats.FORMATS, "torch", lying)
    outcome = recoseg("export", trained, "--format", "torch", "--size", "32x48")
    assert outcome.code in (1, 2)
    assert "differs from the original: largest difference 1e+00" in outcome.err
    assert not (trained / "model.pt2").exists()


@pytest.mark.parametrize("size", ["64", "0x64", "64x", "axb", "64x64x3"])
def test_a_size_that_is_none_is_told(recoseg, trained, size):
    outcome = recoseg("export", trained, "--format", "torch", "--size", size)
    assert outcome.code in (1, 2)
    assert "512x1024" in outcome.err


def test_a_name_that_ends_as_another_format_is_refused(recoseg, trained):
    outcome = recoseg("export", trained, "--format", "onnx", "-o", "model.pt2")
    assert outcome.code in (1, 2)
    assert "needs a name that ends in .onnx" in outcome.err


def test_a_run_without_weights_cannot_be_exported(recoseg, trained):
    (trained / "weights.safetensors").unlink()
    outcome = recoseg("export", trained)
    assert outcome.code in (1, 2)
    assert "has no weights yet" in outcome.err


def test_the_example_runs_the_file_with_onnxruntime_alone(trained, export, tmp_path):
    pytest.importorskip("onnxscript", reason="writes ONNX files")
    export("onnx")
    pixels = np.random.default_rng(0).integers(0, 256, (50, 70, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "photo.png")
    blocked = "import sys; sys.modules.update(torch=None, recoseg=None); "
    run = "import runpy; sys.argv = ['run_onnx', 'run/model.onnx', 'photo.png']; "
    run += f"runpy.run_path({str(EXAMPLE)!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", blocked + run], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with Image.open(tmp_path / "photo_labels.png") as labels:
        got = np.asarray(labels)
    expected = package.load(trained)(pixels).labels
    assert len(np.unique(expected)) > 1
    assert (got == expected).mean() > 0.999
    assert done.stdout.startswith("photo.png: ")
    told = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True)
    assert "photo_labels.png" in told.stderr
