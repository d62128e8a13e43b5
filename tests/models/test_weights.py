"""Weights from files: every wrapping that people publish, and nothing that runs code."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from recoseg.errors import UserError
from recoseg.models.encoders.mobilenet_v2 import MobileNetV2
from recoseg.models.weights import load_weights


def small() -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4))


@pytest.mark.parametrize("wrapper", [None, "state_dict", "model"])
@pytest.mark.parametrize("prefix", ["", "module.", "backbone."])
def test_wrappers_and_prefixes_are_taken_off(tmp_path, wrapper, prefix) -> None:
    source, target = small(), small()
    tensors = {prefix + name: tensor for name, tensor in source.state_dict().items()}
    torch.save({wrapper: tensors, "epoch": 3} if wrapper else tensors, tmp_path / "w.pth")
    report = load_weights(target, tmp_path / "w.pth")
    assert (len(report.matched), report.missing, report.left_over) == (7, [], [])
    assert torch.equal(source[0].weight, target[0].weight)


def test_safetensors_are_read(tmp_path) -> None:
    source, target = small(), small()
    save_file(source.state_dict(), tmp_path / "w.safetensors")
    load_weights(target, tmp_path / "w.safetensors")
    assert torch.equal(source[0].weight, target[0].weight)


def test_what_is_missing_and_left_over_is_reported(tmp_path) -> None:
    tensors = small().state_dict()
    del tensors["0.bias"]
    tensors["head.weight"] = torch.zeros(2)
    torch.save(tensors, tmp_path / "w.pth")
    report = load_weights(small(), tmp_path / "w.pth")
    assert (report.missing, report.left_over) == (["0.bias"], ["head.weight"])
    assert str(report) == "6 tensors matched, 1 missing, 1 left over"


def test_under_half_matched_is_an_error(tmp_path) -> None:
    torch.save({"other.weight": torch.zeros(1)}, tmp_path / "w.pth")
    with pytest.raises(UserError, match="only 0 of the network's 7 tensors"):
        load_weights(small(), tmp_path / "w.pth")


class Hostile:
    def __reduce__(self):
        return os.system, ("touch hostile-code-ran",)


@pytest.mark.parametrize("kind", ["pickle", "torch", "text", "empty", "safetensors"])
def test_hostile_and_broken_files_are_refused_and_run_nothing(tmp_path, monkeypatch, kind) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / ("w.safetensors" if kind == "safetensors" else "w.pth")
    if kind == "torch":
        torch.save({"a": Hostile()}, path)
    else:
        path.write_bytes(
            {"pickle": pickle.dumps(Hostile(), protocol=2), "text": b"hello there", "empty": b""}.get(
                kind, b"\x08junk"
            )
        )
    with pytest.raises(UserError, match="not a readable weights file"):
        load_weights(small(), path)
    assert not (tmp_path / "hostile-code-ran").exists()


def test_a_missing_file_is_named(tmp_path) -> None:
    with pytest.raises(UserError, match=r"no weights file at .*nowhere.pth"):
        load_weights(small(), tmp_path / "nowhere.pth")


def test_the_published_imagenet_file_fills_the_whole_encoder(repository) -> None:
    path = (
        Path(os.environ.get("RECOSEG_WEIGHTS", repository.parent / "shared" / "weights"))
        / "mobilenet_v2-b0353104.pth"
    )
    if not path.is_file():
        pytest.skip(f"no ImageNet weights at {path}; set RECOSEG_WEIGHTS to their folder")
    report = load_weights(MobileNetV2(), path)
    assert report.missing == []
    assert all(name.startswith(("features.18", "classifier")) for name in report.left_over)
