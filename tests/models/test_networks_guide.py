"""The code of docs/networks.md does what it says, with the libraries where they are installed."""

from __future__ import annotations

import importlib
import re
import runpy
import sys
from types import ModuleType, SimpleNamespace

import pytest
import torch
from torch import nn

from recoseg import with_representation


@pytest.fixture
def blocks(repository):
    """The guide's blocks of Python, without the words that make libraries download weights."""
    text = (repository / "docs" / "networks.md").read_text(encoding="utf-8")
    for name, value in (("encoder_weights", '"imagenet"'), ("weights_backbone", '"DEFAULT"')):
        assert f"{name}={value}" in text
        text = text.replace(f"{name}={value}", f"{name}=None")
    return re.findall(r"```python\n(.*?)```", text.replace("pretrained=True", "pretrained=False"), re.DOTALL)


@pytest.fixture
def functions(blocks):
    """The functions for segmentation_models_pytorch, torchvision and timm."""
    found = {}
    exec(next(block for block in blocks if "def unet_plus_plus" in block), found)
    return found


def check(network) -> None:
    model = with_representation(network, num_classes=5, feature_channels=8)
    output = model(torch.rand(2, 3, 70, 98))
    assert output.features.shape[:2] == (2, 8)
    assert output.logits.shape[:2] == (2, 5)
    assert model.encoder is not None
    output.features.square().mean().backward()
    assert next(model.encoder.parameters()).grad is not None


def test_five_lines_bring_a_network(blocks, repository, monkeypatch) -> None:
    module = ModuleType("my_network")
    module.UNet = runpy.run_path(str(repository / "examples" / "unet.py"))["UNet"]
    monkeypatch.setitem(sys.modules, "my_network", module)
    names = {"images": torch.rand(2, 3, 50, 60)}
    exec(blocks[0], names)
    assert names["output"].logits.shape == (2, 4, 50, 60)
    assert names["output"].features.shape == (2, 256, 13, 15)
    assert names["trained"](names["images"]).features is None


@pytest.mark.parametrize(
    ("library", "function"),
    [
        ("segmentation_models_pytorch", "unet_plus_plus"),
        ("torchvision", "deeplab_of_torchvision"),
        ("timm", "timm_encoder"),
    ],
)
def test_a_network_of_another_library_is_wrapped(functions, library, function) -> None:
    try:
        importlib.import_module(library)
    except (ImportError, RuntimeError) as error:  # a torchvision for another torch fails with either
        pytest.skip(f"needs {library}, and a torchvision that fits torch: {error}")
    check(functions[function](num_classes=5))


def test_the_decoder_for_timm_works_with_an_encoder_that_answers_like_timms(functions, monkeypatch) -> None:
    class Encoder(nn.Module):
        feature_info = SimpleNamespace(channels=lambda: [4, 6])

        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Conv2d(3, 4, 4, 4), nn.Conv2d(4, 6, 2, 2)

        def forward(self, images):
            x = self.first(images)
            return [x, self.second(x)]

    timm = ModuleType("timm")
    timm.create_model = lambda name, *, pretrained, features_only: Encoder()
    monkeypatch.setitem(sys.modules, "timm", timm)
    check(functions["timm_encoder"](num_classes=5))
