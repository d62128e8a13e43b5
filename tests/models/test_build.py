"""A network as a run starts with it: weights from files, layers started afresh, BatchNorm frozen."""

from __future__ import annotations

import hashlib

import pytest
import torch
from safetensors.torch import save_file

from recoseg.config import from_plain
from recoseg.errors import UserError
from recoseg.models import pretrained
from recoseg.models.build import BUILDERS, build_model, build_starting_model
from recoseg.models.deeplab_v2 import DeepLabV2
from recoseg.models.freezing import FrozenBatchNorm
from recoseg.training.optimisers import build_optimiser

SMALL = {"name": "deeplab_v3_plus", "decoder_width": 8}


def section(**settings):
    return from_plain({"model": {**SMALL, **settings}}).model


def start(*, num_classes=3, feature_channels=None, **settings):
    return build_starting_model(section(**settings), num_classes, feature_channels=feature_channels, seed=0)


@pytest.fixture
def trained(tmp_path):
    """The weights of a whole network of three classes, as a run leaves them."""
    model = build_model(section(), 3, seed=7)
    save_file(model.state_dict(), tmp_path / "weights.safetensors")
    return model, str(tmp_path / "weights.safetensors")


def same(one, other, prefix="") -> bool:
    """Whether two networks have equal tensors wherever the first one's name begins with `prefix`."""
    theirs = other.state_dict()
    return all(torch.equal(t, theirs[n]) for n, t in one.state_dict().items() if n.startswith(prefix))


def test_without_weights_the_start_is_drawn_from_the_seed() -> None:
    model, lines = start()
    assert lines == []
    assert same(model, build_model(section(), 3, seed=0))
    assert not same(model, build_model(section(), 3, seed=1))


def test_a_run_can_start_from_the_weights_of_another(trained) -> None:
    source, path = trained
    model, lines = start(weights=path)
    assert same(model, source)
    assert lines == [f"weights: weights.safetensors: all {len(source.state_dict())} tensors matched"]


def test_a_representation_head_that_the_other_run_had_not_starts_afresh(trained) -> None:
    source, path = trained
    model, lines = start(weights=path, feature_channels=16)
    assert same(source, model)
    assert same(model, build_model(section(), 3, feature_channels=16, seed=0), "representation.")
    assert "7 missing (representation.0.0.weight, representation.0.1.weight, ...)" in lines[0]


def test_other_classes_start_afresh_only_when_asked(trained) -> None:
    source, path = trained
    with pytest.raises(UserError, match=r"classifier\.1 \(3x8x1x1 in the file, 5x8x1x1 in the network\)"):
        start(num_classes=5, weights=path)
    model, lines = start(num_classes=5, weights=path, reinitialise=True)
    assert lines[0].endswith("started afresh for their shape: classifier.1")
    assert same(source, model, "classifier.0.")
    assert same(source, model, "encoder.")
    assert same(model, build_model(section(), 5, seed=0), "classifier.1.")


@pytest.mark.parametrize("has_weights", [False, True])
def test_a_network_that_comes_with_weights_leaves_them_where_others_are_put_in(
    trained, monkeypatch, has_weights
) -> None:
    asked = []
    build = BUILDERS["deeplab_v3_plus"]

    def noted(*words, pretrained, **settings):
        asked.append(pretrained)
        return build(*words, pretrained=pretrained, **settings)

    monkeypatch.setitem(BUILDERS, "deeplab_v3_plus", noted)
    start(weights=trained[1] if has_weights else None)
    assert asked == [not has_weights]


def test_the_encoder_alone_can_come_from_a_file(tmp_path) -> None:
    source = build_model(section(), 9, seed=7)
    torch.save(source.encoder.state_dict(), tmp_path / "encoder.pth")
    model, lines = start(pretrained=str(tmp_path / "encoder.pth"))
    assert lines == ["weights: encoder.pth: all 306 tensors matched"]
    assert same(model.encoder, source.encoder)
    assert same(model, build_model(section(), 3, seed=0), "aspp.")


def test_imagenet_is_the_word_even_beside_a_folder_of_that_name(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "imagenet").mkdir()
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    source = build_model(section(), 3, seed=7).encoder
    torch.save(source.state_dict(), tmp_path / "w.pth")
    content = (tmp_path / "w.pth").read_bytes()
    source_file = pretrained.Published("http://127.0.0.1:1/net.pth", hashlib.sha256(content).hexdigest())
    name = source_file.file_name
    (tmp_path / "hub" / "checkpoints").mkdir(parents=True)
    (tmp_path / "hub" / "checkpoints" / name).write_bytes(content)
    monkeypatch.setitem(pretrained.IMAGENET, "mobilenet_v2", source_file)
    model, lines = start(pretrained="imagenet")
    assert lines == [f"weights: {name}: all 306 tensors matched"]
    assert same(model.encoder, source)


@pytest.mark.parametrize(("which", "num_layers"), [("encoder", 51), ("all", 59)])
def test_batch_norm_is_frozen_with_the_statistics_of_the_weights(trained, which, num_layers) -> None:
    source, path = trained
    model, lines = start(weights=path, frozen_batch_norm=which)
    assert lines[1] == f"frozen:  {num_layers} BatchNorm layers"
    assert sum(isinstance(module, FrozenBatchNorm) for module in model.modules()) == num_layers
    assert same(model, source)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"reinitialise": True}, "model.reinitialise has no effect without model.weights"),
        (
            {"weights": "a.pth", "pretrained": "imagenet"},
            "model.pretrained has no effect beside model.weights",
        ),
        ({"weights": "nowhere.pth"}, "no weights file at nowhere.pth"),
        ({"encoder": "resnet19"}, "unknown encoder 'resnet19'; did you mean 'resnet1"),
        ({"output_stride": 4}, "output stride 8, 16 or 32, not 4"),
        ({"frozen_batch_norm": "decoder"}, "model.frozen_batch_norm: unknown value 'decoder'"),
    ],
)
def test_mistakes_are_named(settings, message) -> None:
    with pytest.raises(UserError, match=message):
        start(**settings)


def test_an_unknown_network_is_answered_with_the_nearest() -> None:
    with pytest.raises(UserError, match=r"'deeplabv3plus'; did you mean --model deeplab_v3_plus\?"):
        from_plain({"model": "deeplabv3plus"})


def test_the_strides_of_the_two_networks_are_the_papers_and_can_be_set() -> None:
    assert start()[0].encoder.output_stride == 16
    assert start(output_stride=8)[0].encoder.output_stride == 8
    model, _ = build_starting_model(from_plain({"model": "deeplab_v2"}).model, 3, feature_channels=4, seed=0)
    assert isinstance(model, DeepLabV2)
    assert model.encoder.output_stride == 8
    assert model.representation.out_channels == 4


def test_a_setting_of_the_other_network_is_refused() -> None:
    with pytest.raises(UserError, match=r"--model.separable: unknown setting of model deeplab_v2"):
        from_plain({"model": {"name": "deeplab_v2", "separable": True}})


def optimiser(model, **settings):
    return build_optimiser(from_plain({"optimiser": settings}).optimiser, model)


def test_fine_tuning_settings_reach_the_optimiser() -> None:
    model, _ = start(frozen_batch_norm="encoder")
    assert len(optimiser(model).param_groups) == 1
    groups = optimiser(model, lr=0.1, head_lr_factor=10, decay_norms_and_biases=False).param_groups
    found = [(round(group["lr"], 6), group["weight_decay"]) for group in groups]
    # no group of the encoder's norms: they are frozen, and it has no biases
    assert found == [(0.1, 5e-4), (1.0, 5e-4), (1.0, 0.0)]


def test_decay_off_for_norms_has_no_effect_without_decay() -> None:
    with pytest.raises(UserError, match="decay_norms_and_biases has no effect without"):
        optimiser(start()[0], weight_decay=0, decay_norms_and_biases=False)


def test_settings_reach_adamw() -> None:
    model = start()[0]
    made = optimiser(
        model, name="adamw", lr=0.01, weight_decay=0.2, head_lr_factor=5, decay_norms_and_biases=False
    )
    assert type(made) is torch.optim.AdamW
    assert made.defaults["betas"] == (0.9, 0.999)
    groups = {(group["lr"], group["weight_decay"]) for group in made.param_groups}
    assert groups == {(0.01, 0.2), (0.01, 0.0), (0.05, 0.2), (0.05, 0.0)}
    counted = sum(parameter.numel() for group in made.param_groups for parameter in group["params"])
    assert counted == sum(parameter.numel() for parameter in model.parameters())
    with pytest.raises(UserError, match=r"--optimiser.momentum: unknown setting of optimiser adamw"):
        optimiser(model, name="adamw", momentum=0.9)
    with pytest.raises(UserError, match="decay_norms_and_biases has no effect"):
        optimiser(model, name="adamw", weight_decay=0, decay_norms_and_biases=False)


def test_the_first_step_of_adamw_has_a_closed_form() -> None:
    """Weights shrink by rate times decay, and move by the rate against the sign of their gradient."""
    model = torch.nn.Linear(1, 1, bias=False)
    made = optimiser(model, name="adamw", lr=0.1, weight_decay=0.5)
    torch.nn.init.constant_(model.weight, 2.0)
    model(torch.ones(1, 1)).sum().backward()
    made.step()
    assert model.weight.item() == pytest.approx(2.0 * (1 - 0.1 * 0.5) - 0.1, rel=1e-6)


@pytest.mark.parametrize("name", ["sgd", "adamw"])
def test_the_loss_falls_with_every_optimiser(name) -> None:
    model = start()[0].train()
    made = optimiser(model, name=name, lr=0.01)
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(2, 3, 32, 32, generator=generator)
    labels = (images[:, 0] > 0.5).long()
    losses = []
    for _ in range(16):
        logits = torch.nn.functional.interpolate(model(images).logits, (32, 32))
        loss = torch.nn.functional.cross_entropy(logits, labels)
        made.zero_grad()
        loss.backward()
        made.step()
        losses.append(loss.item())
    assert losses[-1] < 0.9 * losses[0]
