"""A representation head on networks that know nothing of it."""

from __future__ import annotations

import copy
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from recoseg import RegionalContrast, shrink_labels, with_representation
from recoseg.errors import UserError
from recoseg.models.layers import Normalise

K, D = 5, 16
EXAMPLES = Path(__file__).parents[2] / "examples"


def unet(**settings):
    return runpy.run_path(str(EXAMPLES / "unet.py"))["UNet"](K, **settings)


def segformer():
    transformers = pytest.importorskip("transformers", reason="needs the package transformers")
    config = transformers.SegformerConfig(
        hidden_sizes=[8, 16, 16, 16], depths=[1] * 4, num_attention_heads=[1, 1, 2, 2],
        decoder_hidden_size=16, num_labels=K,
    )  # fmt: skip
    return transformers.SegformerForSemanticSegmentation(config)


def upernet():
    transformers = pytest.importorskip("transformers", reason="needs the package transformers")
    stages = ["stage1", "stage2", "stage3", "stage4"]
    convnext = transformers.ConvNextConfig(hidden_sizes=[8, 8, 16, 16], depths=[1] * 4, out_features=stages)
    config = transformers.UperNetConfig(
        backbone_config=convnext, hidden_size=16, pool_scales=[1, 2], auxiliary_channels=8,
        auxiliary_in_channels=16, num_labels=K,
    )  # fmt: skip
    assert config.use_auxiliary_head  # which makes K channels too, after the real head
    return transformers.UperNetForSemanticSegmentation(config)


def dpt():
    transformers = pytest.importorskip("transformers", reason="needs the package transformers")
    config = transformers.DPTConfig(
        hidden_size=16, num_hidden_layers=4, num_attention_heads=2, intermediate_size=16, image_size=70,
        patch_size=14, backbone_out_indices=[0, 1, 2, 3], neck_hidden_sizes=[8, 8, 16, 16],
        fusion_hidden_size=16, num_labels=K,
    )  # fmt: skip
    assert config.use_auxiliary_head
    return transformers.DPTForSemanticSegmentation(config)


def dinov2_dpt():
    transformers = pytest.importorskip("transformers", reason="needs the package transformers")
    config = transformers.Dinov2Config(
        hidden_size=16, num_hidden_layers=4, num_attention_heads=2, image_size=70, patch_size=14,
        out_indices=[1, 2, 3, 4], reshape_hidden_states=False, apply_layernorm=False,
    )  # fmt: skip
    example = runpy.run_path(str(EXAMPLES / "dinov2_dpt.py"))
    return example["DINOv2WithDPT"](transformers.Dinov2Backbone(config), K, width=16)


class Tokens(nn.Module):
    """Patches of 8 as tokens, a class token before them, and a linear classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 12, 8, stride=8)
        self.mix = nn.Linear(12, 12)
        self.classify = nn.Linear(12, K)

    def forward(self, images):
        patches = self.patches(images)  # (B, 12, h, w)
        tokens = patches.flatten(2).transpose(1, 2)
        tokens = self.mix(torch.cat([tokens.mean(1, keepdim=True), tokens], dim=1)).relu()
        logits = self.classify(tokens)[:, 1:].transpose(1, 2)
        return logits.reshape(len(images), K, *patches.shape[2:])


# network -> the layer that reads the features, what sides must be a multiple of, size of features at 70x98
NETWORKS = {
    "unet": (unet, "classifier", 8, (18, 25)),
    "deep unet": (lambda: unet(width=4, depth=5), "classifier", 32, (18, 25)),
    "segformer": (segformer, "decode_head.classifier", 1, (18, 25)),
    "upernet with convnext": (upernet, "decode_head.classifier", 4, (18, 25)),
    "dpt": (dpt, "head.head.4", 14, (23, 32)),
    "dpt with dinov2": (dinov2_dpt, "head.head.4", 14, (24, 32)),
    "tokens": (Tokens, "classify", 8, (9, 12)),
}
every_network = pytest.mark.parametrize("name", NETWORKS)


def build(name: str, **settings):
    torch.manual_seed(0)
    return with_representation(NETWORKS[name][0](), num_classes=K, feature_channels=D, **settings)


def contrast_of(output, labels):
    size = output.features.shape[2:]
    contrast = RegionalContrast(num_queries=16, num_keys=16, temperature=0.5)
    probabilities = torch.full((len(labels), K, *size), 1 / K)
    return contrast(output.features, shrink_labels(labels, size), probabilities)


@every_network
def test_the_head_reads_what_the_classifier_reads(name) -> None:
    model = build(name).eval()
    assert (model.place.at, model.sizes.multiple_of) == NETWORKS[name][1:3]
    assert model(torch.rand(2, 3, 70, 98)).features.shape == (2, D, *NETWORKS[name][3])
    read = []
    layer = model.network.get_submodule(model.place.at)
    layer.register_forward_pre_hook(lambda _, given: read.append(given[0]))
    height, width = model.sizes.padded((70, 98))
    features = model(torch.rand(2, 3, height, width)).features
    if name == "tokens":  # laid out row by row, after the class token
        read[0] = read[0][:, 1:].transpose(1, 2).reshape(2, 12, height // 8, width // 8)
    assert torch.equal(features, model.representation(read[0]))


@every_network
def test_logits_are_the_plain_networks_on_normalised_images(name) -> None:
    model = build(name).eval()
    images = torch.rand(2, 3, *model.sizes.padded((64, 64)))
    plain = model.network(Normalise()(images))
    assert torch.equal(model(images).logits, getattr(plain, "logits", plain))


@every_network
def test_any_size_goes_in_and_logits_and_features_fit_it(name) -> None:
    model = build(name).eval()
    for size in ((75, 101), (33, 50), (5, 9)):
        output = model(torch.rand(1, 3, *size))
        assert output.logits.isfinite().all()
        rows, columns = (side / cells for side, cells in zip(size, output.logits.shape[2:], strict=True))
        assert output.features.shape[2] <= size[0]
        assert output.features.shape[3] <= size[1]
        if size[0] > 30:
            assert rows == pytest.approx(columns, rel=0.15)  # as far from the image's size along both sides


@every_network
def test_the_contrast_trains_head_decoder_and_encoder_but_not_the_classifier(name) -> None:
    model = build(name).train()
    labels = torch.arange(4).view(2, 1, 2).repeat_interleave(70, 1).repeat_interleave(49, 2)
    contrast_of(model(torch.rand(2, 3, 70, 98)), labels).backward()
    assert all(p.grad.abs().sum() > 0 for n, p in model.representation.named_parameters() if n[0] != "0")
    moved = [p for n, p in model.network.named_parameters() if p.grad is not None and p.grad.abs().sum() > 0]
    assert len(moved) > 0.5 * len(list(model.network.parameters()))
    assert model.network.get_submodule(model.place.at).weight.grad is None
    assert next(p for p in model.network.parameters() if p.ndim == 4).grad.abs().sum() > 0


@every_network
def test_a_copy_works_by_itself(name) -> None:
    model = build(name).eval()
    images = torch.rand(1, 3, 70, 98)
    before = model(images)
    twin = copy.deepcopy(model)
    assert torch.equal(twin(images).features, before.features)
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.zero_()
    assert torch.equal(model(images).features, before.features)
    assert twin(images).features.abs().sum() == 0
    twin(images).features.sum().backward()
    assert all(parameter.grad is None for parameter in model.parameters())


@every_network
def test_inference_is_exactly_the_network_that_never_had_the_head(name) -> None:
    model = build(name).train()
    stripped = model.inference()
    torch.manual_seed(0)
    plain = with_representation(NETWORKS[name][0](), num_classes=K, feature_channels=None).eval()
    plain.network.load_state_dict(model.network.state_dict())
    assert [n for n, _ in stripped.named_parameters()] == [n for n, _ in plain.named_parameters()]
    images = torch.rand(1, 3, *model.sizes.padded((64, 64)))
    with torch.no_grad():
        with FlopCounterMode(display=False) as ours:
            output = stripped(images)
        with FlopCounterMode(display=False) as theirs:
            expected = plain.network(Normalise()(images))
    assert torch.equal(output.logits, getattr(expected, "logits", expected))
    assert output.features is None
    assert ours.get_total_flops() == theirs.get_total_flops() > 0
    assert model.training
    assert model.eval()(images).features is not None


def hooks_of(model):
    return [list(hooks) for m in model.modules() for hooks in (m._forward_hooks, m._forward_pre_hooks)]


@every_network
def test_looking_for_the_layer_leaves_the_network_as_it_was(name) -> None:
    torch.manual_seed(0)
    network = NETWORKS[name][0]().eval()
    network(torch.rand(1, 3, 70, 70) if "dpt" in name else torch.rand(1, 3, 64, 64))
    hooks = hooks_of(network)  # transformers puts some of its own at the first call
    frozen = next(m for m in network.train().modules() if isinstance(m, nn.Conv2d)).eval()
    state, random = copy.deepcopy(network.state_dict()), torch.get_rng_state()
    with_representation(network, num_classes=K, feature_channels=None)
    assert torch.equal(torch.get_rng_state(), random)
    model = with_representation(network, num_classes=K, feature_channels=D)
    assert [m for m in network.modules() if not m.training] == [frozen]
    assert all(torch.equal(tensor, state[n]) for n, tensor in network.state_dict().items())
    model(torch.rand(2, 3, 70, 98))
    assert hooks_of(network) == hooks


def test_a_call_that_fails_leaves_no_hook_behind() -> None:
    model = build("unet")
    with pytest.raises(RuntimeError):
        model(torch.rand(2, 3, 64, 64, dtype=torch.float64))
    assert not any(hooks_of(model))


@pytest.mark.parametrize("name", ["unet", "tokens"])
def test_weights_pass_through_a_state_dict(name) -> None:
    model = build(name).eval()
    torch.manual_seed(1)
    other = with_representation(NETWORKS[name][0](), num_classes=K, feature_channels=D).eval()
    images = torch.rand(1, 3, 64, 64)
    assert not torch.equal(other(images).features, model(images).features)
    other.load_state_dict(model.state_dict())
    assert torch.equal(other(images).features, model(images).features)
    assert {n.split(".")[0] for n in model.state_dict()} == {"network", "representation"}


@pytest.mark.parametrize("name", ["unet", "segformer", "tokens"])
def test_it_can_be_exported_with_and_without_features(name) -> None:
    class Outputs(nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, images):
            output = self.model(images)
            return output.logits if output.features is None else output.features

    images = torch.rand(1, 3, 50, 70)
    for model in (build(name).eval(), build(name).inference()):
        exported = torch.export.export(Outputs(model), (images,)).module()
        torch.testing.assert_close(exported(images), Outputs(model)(images))


def test_padding_repeats_the_edge_and_is_cut_off_to_the_pixel() -> None:
    model = with_representation(unet().eval(), num_classes=K, normalise=nn.Identity())
    images = torch.rand(1, 3, 61, 43)
    padded = torch.cat([images, images[:, :, -1:].expand(-1, -1, 3, -1)], dim=2)
    padded = torch.cat([padded, padded[..., -1:].expand(-1, -1, -1, 5)], dim=3)
    torch.testing.assert_close(model.eval()(images).logits, model.network(padded)[:, :, :61, :43])


def test_fine_features_are_averaged_down_to_the_asked_stride() -> None:
    for stride, cells in ((1, 64), (2, 32), (4, 16), (8, 8)):
        output = build("unet", feature_stride=stride)(torch.rand(2, 3, 64, 64))
        assert output.features.shape[2:] == (cells, cells)
        assert output.logits.shape[2:] == (64, 64)
    assert build("segformer", feature_stride=1)(torch.rand(2, 3, 64, 64)).features.shape[2:] == (16, 16)


class Branches(nn.Module):
    """A trunk, a classifier, and then a head that serves a loss of its own."""

    def __init__(self, kind: str = "tensor") -> None:
        super().__init__()
        self.kind = kind
        self.backbone = nn.Conv2d(3, K, 3, padding=1)  # as many channels as classes, by chance
        self.decoder = nn.Conv2d(K, 7, 1)
        self.classify = nn.Conv2d(7, K, 1)
        self.auxiliary = nn.Conv2d(9, K, 1)
        self.unused = nn.Conv2d(7, K, 1)
        self.widen = nn.Conv2d(K, 9, 1)
        nn.init.zeros_(self.classify.weight)  # a fresh classifier may answer the same everywhere

    def forward(self, images):
        trunk = self.backbone(images).relu()
        logits = self.classify(self.decoder(trunk))
        auxiliary = self.auxiliary(self.widen(trunk))
        if self.kind == "dict":
            return {"aux": auxiliary, "out": logits}
        if self.kind == "object":
            return SimpleNamespace(logits=logits)
        return (logits, auxiliary) if self.kind == "tuple" else logits


@pytest.mark.parametrize("kind", ["tensor", "dict", "object"])
def test_a_head_of_its_own_loss_never_wins_whatever_the_network_returns(kind) -> None:
    model = with_representation(Branches(kind), num_classes=K, feature_channels=D)
    assert (model.place.at, model.place.channels) == ("classify", 7)
    assert model.encoder is model.network.backbone
    assert model(torch.rand(2, 3, 9, 9)).logits.shape == (2, K, 9, 9)


def test_a_layer_that_enlarges_logits_is_not_taken_for_the_classifier() -> None:
    network = nn.Sequential(nn.Conv2d(3, 6, 2, 2), nn.Conv2d(6, K, 1), nn.ConvTranspose2d(K, K, 2, 2))
    assert with_representation(network, num_classes=K).place.at == "1"


def test_the_layer_can_be_named() -> None:
    model = with_representation(Branches(), num_classes=K, feature_channels=D, at="widen")
    assert model.place.channels == K
    assert model(torch.rand(2, 3, 9, 9)).features.shape == (2, D, 3, 3)


def test_the_encoder_is_the_part_that_libraries_name_so() -> None:
    assert build("segformer").encoder is not None
    model = build("upernet with convnext")
    assert model.encoder is model.network.backbone
    model = build("dpt")
    assert model.encoder is model.network.dpt
    assert build("unet").encoder is None


def refused(network, match: str, **settings) -> None:
    with pytest.raises(UserError, match=match) as raised:
        with_representation(network, **{"num_classes": K, **settings})
    assert "\n" not in str(raised.value)


def test_mistakes_are_told_in_one_line() -> None:
    refused(Branches(), r"no layer 'clasify'; did you mean 'classify'\? Known: .*widen", at="clasify")
    refused(Branches(), "layer 'unused' is not used in the forward pass", at="unused")
    refused(Branches("tuple"), "returns a tuple of 2, needs a tensor of logits, a dict with 'out'")
    refused(Branches(), "logits have 5 classes, .* num_classes is 4; build the network for 4", num_classes=4)
    refused(
        nn.Conv2d(4, K, 1),
        "refuses images .* of all 22 sizes tried, the first of 71x73: RuntimeError: .*channels",
    )
    refused(nn.Sequential(nn.Conv2d(3, K, 1), nn.Flatten(2)), r"logits have the shape \(1, 5, 5183\), needs")
    refused(Branches(), "multiple_of: got 0", multiple_of=0)


def test_where_no_layer_makes_the_classes_those_that_there_are_get_named() -> None:
    class Product(nn.Module):
        def __init__(self):
            super().__init__()
            self.decode = nn.Conv2d(3, 8, 1)
            self.prototypes = nn.Parameter(torch.randn(K, 8))

        def forward(self, images):
            return torch.einsum("bchw,kc->bkhw", self.decode(images), self.prototypes)

    refused(Product(), "no layer that makes the logits' 5 channels; .*decode makes 8; name the layer .* at=")


def test_a_layer_that_reads_a_list_is_refused() -> None:
    pytest.importorskip("transformers", reason="needs the package transformers")
    refused(segformer(), "reads an input .*; name another layer with at=", at="decode_head")


def test_images_of_other_shapes_are_refused() -> None:
    model = build("unet")
    with pytest.raises(UserError, match="3 channels"):
        model(torch.rand(1, 1, 64, 64))
    with pytest.raises(UserError, match="add the batch"):
        model(torch.rand(3, 64, 64))


@pytest.mark.parametrize("name", ["segformer", "upernet with convnext", "dpt", "dpt with dinov2"])
def test_a_network_with_an_encoder_starts_as_the_probe_of_its_maps(name) -> None:
    model = build(name, probe=True).eval()
    images = torch.rand(2, 3, 70, 98)
    with torch.no_grad():
        assert not model(images).logits.any()  # the probe is not fitted, and the decoder starts at zero
        torch.manual_seed(1)
        for tensor in (model.probe.weight, model.probe.bias):
            tensor.normal_()
        levels = model.levels(model.encode(images))
        by_hand = torch.zeros(2, K, *levels[0].shape[2:])
        place = 0
        for level in levels:
            part = model.probe.weight[:, place : place + level.shape[1]]
            logits = torch.einsum("kc,bchw->bkhw", part, level)
            by_hand += nn.functional.interpolate(logits, by_hand.shape[2:], mode="bilinear")
            place += level.shape[1]
        by_hand += model.probe.bias[:, None, None]
        output = model(images)
    assert place == model.probe.weight.shape[1]
    assert output.features.shape == (2, D, *NETWORKS[name][3])
    padded = model.sizes.padded((70, 98))
    if padded == (70, 98):
        enlarged = nn.functional.interpolate(by_hand, output.logits.shape[2:], mode="bilinear")
        torch.testing.assert_close(output.logits, enlarged, rtol=1e-4, atol=1e-4)
    assert output.logits.var(0).sum() > 0


def test_a_network_without_a_named_encoder_has_no_probe() -> None:
    with pytest.raises(UserError, match="no part named"):
        build("tokens", probe=True)
