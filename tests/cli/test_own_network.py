"""Whole runs with networks that are not ours."""

from __future__ import annotations

import json
import shlex
import shutil

import pytest
import yaml
from safetensors.torch import load_file

from recoseg.methods.supervised import Supervised

TINY = [
    "--data.height=40", "--data.width=44", "--data.num-train=4", "--data.num-val=2", "--augment.crop=36",
    "--train.iterations=2", "--train.labelled-per-step=2", "--train.evaluate-every=1", "--train.log-every=1",
]  # fmt: skip


@pytest.fixture
def own_unet(repository, tmp_path):
    """The example's U-Net under a name of its own, in the current folder of `recoseg`."""
    shutil.copy(repository / "examples" / "unet.py", tmp_path / "unet_of_mine.py")
    return "unet_of_mine:unet"


@pytest.fixture
def run_resume_and_report(recoseg, tmp_path, monkeypatch):
    """A whole run, and one that is cut short and resumed: they end the same. Returns the weights."""

    def run(*model):
        whole = recoseg("train", "--out", "whole", *TINY, *model)
        assert whole.code == 0, whole.err
        assert "mean IoU" in whole.out
        original, steps = Supervised.step, []

        def cut(self, *batches, **settings):
            steps.append(batches)
            if len(steps) == 2:
                raise OSError(28, "No space left on device")
            return original(self, *batches, **settings)

        monkeypatch.setattr(Supervised, "step", cut)
        assert recoseg("train", "--out", "cut", *TINY, *model).code == 1
        monkeypatch.setattr(Supervised, "step", original)
        resumed = recoseg("train", "--resume", "cut")
        assert resumed.code == 0, resumed.err
        for name in ("metrics.jsonl", "weights.safetensors"):
            assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "cut" / name).read_bytes()
        assert recoseg("report", "whole", "--trust").code == 0
        assert "<html" in (tmp_path / "whole" / "report" / "index.html").read_text(encoding="utf-8")
        return load_file(tmp_path / "whole" / "weights.safetensors")

    return run


def test_a_function_of_ones_own_makes_the_network(run_resume_and_report, tmp_path, own_unet) -> None:
    weights = run_resume_and_report("--model.factory", own_unet)
    assert "network.classifier.weight" in weights
    assert not any(name.startswith("representation.") for name in weights)
    saved = yaml.safe_load((tmp_path / "whole" / "config.yaml").read_text())["model"]
    assert saved["name"] == "factory"
    assert saved["factory"] == own_unet


def test_the_command_of_the_page_trains_the_examples_network(recoseg, repository, photos, tmp_path) -> None:
    page = (repository / "docs" / "networks.md").read_text(encoding="utf-8")
    (line,) = (
        line for line in page.splitlines() if line.startswith("recoseg train") and "my_network:" in line
    )
    words = shlex.split(
        line.replace("my_network:UNet", "unet_of_page:unet").replace("my/images", str(photos))
    )
    shutil.copy(repository / "examples" / "unet.py", tmp_path / "unet_of_page.py")
    tiny = [word for word in TINY if not word.startswith("--data")]
    outcome = recoseg(*words[1:], "--out", "run", *tiny)
    assert outcome.code == 0, outcome.err
    (note,) = (line for line in outcome.out.splitlines() if "head_lr_factor" in line)
    assert "encoder" in note
    rates = {
        line["lr"] for line in map(json.loads, (tmp_path / "run" / "losses.jsonl").read_text().splitlines())
    }
    assert max(rates) == 0.0006  # of all parts: none has five times that


def test_a_transformers_checkpoint_makes_the_network(run_resume_and_report, tmp_path, segformer) -> None:
    weights = run_resume_and_report("--model.checkpoint", segformer)
    assert weights["network.decode_head.classifier.weight"].shape[1] == 16
    saved = yaml.safe_load((tmp_path / "whole" / "config.yaml").read_text())["model"]
    assert saved["checkpoint"] == str(tmp_path / "segformer")  # found from any folder


def test_a_trained_run_needs_the_config_of_its_checkpoint_only(recoseg, tmp_path, segformer) -> None:
    assert recoseg("train", "--out", "run", *TINY, "--model.checkpoint", segformer).code == 0
    (tmp_path / segformer / "model.safetensors").unlink()
    assert recoseg("report", "run").code == 0
    outcome = recoseg("train", "--out", "other", *TINY, "--model.checkpoint", segformer)
    assert outcome.code in (1, 2)
    assert "it must hold config.json and model.safetensors" in outcome.err


def test_the_contrast_gets_its_features_from_any_network(recoseg, tmp_path, own_unet) -> None:
    contrast = ["--contrast.num-queries=8", "--contrast.num-keys=8", "--contrast.feature-channels=8"]
    outcome = recoseg("train", "--out", "run", *TINY, *contrast, "--model.factory", own_unet)
    assert outcome.code == 0, outcome.err
    weights = load_file(tmp_path / "run" / "weights.safetensors")
    assert any(name.startswith("representation.") for name in weights)
    losses = [json.loads(line) for line in (tmp_path / "run" / "losses.jsonl").read_text().splitlines()]
    assert all(line["contrast"] > 0 for line in losses)


@pytest.mark.parametrize("method", ["cct", "vat"])
def test_methods_that_work_inside_a_network_take_any(recoseg, tmp_path, own_unet, method) -> None:
    words = ["--split.labels=2", "--method", method, "--model.factory", own_unet]
    outcome = recoseg("train", "--out", "run", *TINY, *words)
    assert outcome.code == 0, outcome.err
    losses = [json.loads(line) for line in (tmp_path / "run" / "losses.jsonl").read_text().splitlines()]
    assert all("unsupervised" in line for line in losses)
    assert not any("decoders" in name for name in load_file(tmp_path / "run" / "weights.safetensors"))


def test_a_mistake_in_the_factory_is_one_line(recoseg, own_unet) -> None:
    outcome = recoseg("train", *TINY, "--model.factory", "unet_of_mine:blok")
    assert outcome.code in (1, 2)
    assert "did you mean 'block'? Known: UNet, block, unet, main" in outcome.err
    assert outcome.err.count("\n") == 1
    outcome = recoseg("train", *TINY, "--model.factory", own_unet, "--model.checkpoint", "x")
    assert outcome.code in (1, 2)
    assert outcome.err.count("\n") == 1
