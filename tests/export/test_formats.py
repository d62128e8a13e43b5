"""Exported networks: the same answer, for any batch and size, and nothing of this machine in the file."""

from __future__ import annotations

import json
import zipfile
from functools import cache
from io import BytesIO

import pytest
import torch
from torch import nn

from recoseg.config import load
from recoseg.errors import UserError
from recoseg.export.deployable import TOLERANCE, About, Deployable, Difference, compare, random_images
from recoseg.export.formats import FORMATS, METADATA, program
from recoseg.models.build import build_model
from recoseg.models.representation import with_representation
from recoseg.types import ClassInfo, ModelOutput

CLASSES = ClassInfo(("road", "café", "tree"), ((0, 0, 0), (10, 20, 30), (255, 0, 7)))
ABOUT = About(CLASSES, iteration=40, version="recoseg 9")
SMALL = ("--model.encoder", "resnet10_small", "--model.decoder_width", "8")
NETWORKS = [
    pytest.param(SMALL, id="small"),
    pytest.param(("--model.decoder_width", "8"), id="mobilenet", marks=pytest.mark.slow),
    pytest.param(("--model", "deeplab_v2"), id="v2", marks=pytest.mark.slow),
]
FEATURE_CHANNELS = 251  # a number that nothing but the representation head has


def network(words: tuple[str, ...]) -> nn.Module:
    """Always with the same weights."""
    model = build_model(load(None, words).model, len(CLASSES), feature_channels=FEATURE_CHANNELS, seed=0)
    torch.manual_seed(0)
    with torch.no_grad():  # as after training: statistics that are not 0 and 1
        for layer in model.modules():
            if isinstance(layer, nn.BatchNorm2d):
                layer.running_mean.uniform_(-0.1, 0.1)
                layer.running_var.uniform_(0.5, 1.5)
    return model


@cache
def written(name: str, words: tuple[str, ...], size: tuple[int, int] | None) -> bytes:
    """The file of a network: exporting one takes seconds, and many tests only read it."""
    original = network(words)
    content = FORMATS[name].write(program(Deployable(original), size), ABOUT)
    assert original.representation is not None  # the original keeps its head
    return content


@pytest.fixture(params=FORMATS)
def name(request):
    if request.param == "onnx":
        for package in ("onnx", "onnxscript", "onnxruntime"):
            pytest.importorskip(package, reason=f"exporting to ONNX needs {package}")
    return request.param


@pytest.fixture
def kind(name):
    return FORMATS[name]


@pytest.mark.parametrize("words", NETWORKS)
def test_an_exported_network_agrees_with_the_original_on_any_batch_and_size(name, kind, words):
    original = network(words)
    exported = kind.run(written(name, words, None))
    difference = compare(Deployable(original), exported, random_images(None))
    assert difference.is_small
    assert difference.num_images == 6
    # The reference, spelled out: floats in [0, 1], plain network, logits at the image's size.
    images = random_images(None)[1]  # two of 97 x 130
    with torch.no_grad():
        logits = original.eval()(images / 255).logits
        expected = nn.functional.interpolate(logits, images.shape[2:], mode="bilinear", align_corners=False)
    torch.testing.assert_close(exported(images), expected, rtol=1e-4, atol=1e-4)


def shapes_in(name: str, content: bytes) -> list[list[int]]:
    """Those of the numbers that a file holds."""
    if name == "onnx":
        onnx = pytest.importorskip("onnx")
        return [list(tensor.dims) for tensor in onnx.load_model_from_string(content).graph.initializer]
    return [list(tensor.shape) for tensor in torch.export.load(BytesIO(content)).state_dict.values()]


def test_the_representation_head_is_not_in_the_file(name):
    original = network(SMALL)
    assert any(FEATURE_CHANNELS in weights.shape for weights in original.representation.parameters())
    shapes = shapes_in(name, written(name, SMALL, (64, 96)))
    assert list(original.classifier[-1].weight.shape) in shapes
    assert not [shape for shape in shapes if FEATURE_CHANNELS in shape]


def test_a_wrapped_network_that_pads_its_images_is_exported_too(kind):
    halving = nn.Sequential(nn.Conv2d(3, 4, 2, stride=2), nn.ReLU(), nn.ConvTranspose2d(4, 3, 2, stride=2))
    original = Deployable(with_representation(halving, num_classes=3, multiple_of=2, at="2"))
    exported = kind.run(kind.write(program(original, (32, 48)), ABOUT))
    assert compare(original, exported, random_images((32, 48))).is_small


def test_a_file_for_one_size_refuses_others(name, kind):
    exported = kind.run(written(name, SMALL, (64, 96)))
    assert exported(random_images((64, 96))[0]).shape == (1, 3, 64, 96)
    with pytest.raises(Exception, match=r"(?i)dimension|shape|size|guard"):
        exported(random_images((96, 64))[0])


def test_onnx_holds_class_names_and_colours_as_metadata_and_no_path_of_this_machine():
    onnxruntime = pytest.importorskip("onnxruntime", reason="runs ONNX files")
    pytest.importorskip("onnxscript", reason="writes ONNX files")
    content = written("onnx", SMALL, (64, 96))
    metadata = onnxruntime.InferenceSession(content).get_modelmeta().custom_metadata_map
    assert json.loads(metadata["classes"]) == list(CLASSES.names)
    assert json.loads(metadata["palette"]) == [[0, 0, 0], [10, 20, 30], [255, 0, 7]]
    assert json.loads(metadata["iteration"]) == 40
    assert b"site-packages" not in content
    assert b"recoseg/models" not in content


def test_a_torch_program_holds_class_names_and_no_path_of_this_machine():
    content = written("torch", SMALL, (64, 96))
    extra = {METADATA: ""}
    torch.export.load(BytesIO(content), extra_files=extra)
    assert json.loads(extra[METADATA])["classes"] == list(CLASSES.names)
    with zipfile.ZipFile(BytesIO(content)) as archive:
        everything = b"".join(archive.read(name) for name in archive.namelist())
    assert b"site-packages" not in everything
    assert b"recoseg/models" not in everything


class DependsOnValues(nn.Module):
    """Takes another way through itself for dark images, which no graph can hold."""

    def forward(self, images: torch.Tensor) -> ModelOutput:
        return ModelOutput(images if images.mean() > 0.5 else -images)


def test_a_network_that_cannot_be_exported_is_told_in_one_line():
    with pytest.raises(UserError, match=r"cannot be exported.*--size HEIGHTxWIDTH"):
        program(Deployable(DependsOnValues()), None)


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnxscript", None)
    with pytest.raises(UserError, match=r"onnxscript.*recoseg\[onnx\]"):
        FORMATS["onnx"].require_packages()


def test_differences_are_counted_as_they_are():
    images = torch.zeros(1, 3, 2, 2, dtype=torch.uint8)
    original = torch.tensor([2.0, 1.0]).view(1, 2, 1, 1).expand(1, 2, 2, 2)
    changed = original.clone()
    changed[0, 1, 0, 0] = 5.0
    difference = compare(lambda _: original, lambda _: changed, [images])
    assert difference == Difference(
        largest=4.0, largest_logit=2.0, num_images=1, num_pixels=4, num_other_class=1
    )
    assert not difference.is_small


@pytest.mark.parametrize(("largest", "small"), [(0.9 * TOLERANCE * 50, True), (1.1 * TOLERANCE * 50, False)])
def test_the_tolerance_is_a_share_of_the_largest_logit(largest, small):
    assert Difference(largest, 50.0, 1, 1, 0).is_small is small


def test_other_shapes_and_values_that_are_not_finite_are_errors():
    images = torch.zeros(1, 3, 2, 2, dtype=torch.uint8)
    with pytest.raises(UserError, match=r"gives \(1, 3, 2, 2\), not \(1, 2, 2, 2\)"):
        compare(lambda _: torch.zeros(1, 2, 2, 2), lambda _: torch.zeros(1, 3, 2, 2), [images])
    with pytest.raises(UserError, match="not finite"):
        compare(lambda _: torch.zeros(1, 2, 2, 2), lambda _: torch.full((1, 2, 2, 2), torch.nan), [images])
