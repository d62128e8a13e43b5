"""Networks of the package transformers, from folders made here: nothing is downloaded."""

from __future__ import annotations

import json
import sys

import pytest
import torch

from recoseg import with_representation
from recoseg.errors import UserError
from recoseg.models.external import transformers_network, transformers_normalise
from recoseg.models.layers import Normalise

SIZES = {"hidden_sizes": [8, 16, 16, 16], "depths": [1] * 4, "num_attention_heads": [1, 1, 2, 2]}


@pytest.fixture
def transformers():
    return pytest.importorskip("transformers", reason="needs the package transformers")


@pytest.fixture
def checkpoint(transformers, tmp_path):
    """A folder with a SegFormer of 7 classes."""
    torch.manual_seed(0)
    config = transformers.SegformerConfig(**SIZES, decoder_hidden_size=16, num_labels=7)
    transformers.SegformerForSemanticSegmentation(config).save_pretrained(tmp_path / "segformer")
    return tmp_path / "segformer"


def refused(checkpoint, match: str) -> None:
    with pytest.raises(UserError, match=match) as raised:
        transformers_network(str(checkpoint), 5)
    assert "\n" not in str(raised.value)


def test_the_weights_are_those_of_the_checkpoint(transformers, checkpoint) -> None:
    network = transformers_network(str(checkpoint), 7)
    saved = transformers.SegformerForSemanticSegmentation.from_pretrained(checkpoint)
    images = torch.rand(1, 3, 64, 64)
    assert torch.equal(network.eval()(images).logits, saved.eval()(images).logits)


def test_a_classifier_of_another_number_of_classes_starts_afresh_and_nothing_else(checkpoint) -> None:
    before, after = (transformers_network(str(checkpoint), k).state_dict() for k in (7, 5))
    changed = {n for n in before if before[n].shape != after[n].shape or not torch.equal(before[n], after[n])}
    assert changed == {"decode_head.classifier.weight", "decode_head.classifier.bias"}
    assert after["decode_head.classifier.weight"].shape[0] == 5


def test_without_pretrained_weights_only_the_config_is_read(checkpoint) -> None:
    (checkpoint / "model.safetensors").unlink()
    network = transformers_network(str(checkpoint), 5, pretrained=False)
    assert network(torch.rand(1, 3, 32, 32)).logits.shape == (1, 5, 8, 8)
    refused(checkpoint, "no file named model.safetensors .*; it must hold config.json and model.safetensors")


def test_an_encoder_alone_gets_a_fresh_decoder(transformers, tmp_path) -> None:
    torch.manual_seed(0)
    encoder = transformers.SegformerModel(transformers.SegformerConfig(**SIZES, decoder_hidden_size=16))
    encoder.save_pretrained(tmp_path / "encoder")
    network = transformers_network(str(tmp_path / "encoder"), 5)
    ours = network.segformer.state_dict()
    assert all(torch.equal(tensor, ours[name]) for name, tensor in encoder.state_dict().items())
    assert with_representation(network, num_classes=5).encoder is network.segformer


def test_auxiliary_heads_are_left_out(transformers, tmp_path) -> None:
    stages = ["stage1", "stage2", "stage3", "stage4"]
    convnext = transformers.ConvNextConfig(hidden_sizes=[8] * 4, depths=[1] * 4, out_features=stages)
    config = transformers.UperNetConfig(
        backbone_config=convnext, hidden_size=8, pool_scales=[1], auxiliary_in_channels=8, num_labels=5
    )
    transformers.UperNetForSemanticSegmentation(config).save_pretrained(tmp_path)
    network = transformers_network(str(tmp_path), 5)
    assert network.auxiliary_head is None
    model = with_representation(network, num_classes=5, feature_channels=8)
    output = model(torch.rand(2, 3, 64, 64))
    (output.logits.sum() + output.features.square().sum()).backward()
    assert [n for n, p in network.named_parameters() if p.grad is None] == []


def test_images_are_normalised_as_the_checkpoint_asks(checkpoint) -> None:
    images = torch.rand(1, 3, 4, 4)
    assert torch.equal(transformers_normalise(str(checkpoint))(images), Normalise()(images))
    asked = {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.25]}
    expected = torch.stack([images[0, 0] * 2 - 1, images[0, 1] * 2 - 1, images[0, 2] * 4 - 2])[None]
    wanted = {
        (): expected,
        ("do_normalize", False): images,
        ("do_normalize", False, "do_flip_channel_order", True): images[:, [2, 1, 0]],
    }
    for more, result in wanted.items():
        settings = asked | dict(zip(more[::2], more[1::2], strict=True))
        (checkpoint / "preprocessor_config.json").write_text(json.dumps(settings))
        torch.testing.assert_close(transformers_normalise(str(checkpoint))(images), result)


def test_a_checkpoint_that_is_no_segmentation_network_is_refused(transformers, tmp_path) -> None:
    transformers.BertConfig().save_pretrained(tmp_path)
    refused(
        tmp_path, "BertConfig.* AutoModelForSemanticSegmentation; it must hold .* of a segmentation network"
    )


def test_weights_and_config_must_belong_together(checkpoint) -> None:
    config = json.loads((checkpoint / "config.json").read_text())
    (checkpoint / "config.json").write_text(json.dumps(config | {"decoder_hidden_size": 24}))
    refused(checkpoint, "has the shape .* the network's is .* do not belong together")
    (checkpoint / "config.json").write_text(json.dumps(config | {"depths": [9] * 4}))
    refused(checkpoint, "has weights for .* of the network's .* tensors only")


def test_pickled_weights_are_not_read(checkpoint) -> None:
    network = transformers_network(str(checkpoint), 5)
    (checkpoint / "model.safetensors").unlink()
    torch.save(network.state_dict(), checkpoint / "pytorch_model.bin")
    refused(checkpoint, "cannot be used: .*model.safetensors")


def test_a_folder_that_is_not_there_and_one_that_holds_nothing_are_told(transformers, tmp_path) -> None:
    refused(tmp_path / "nothing", "there is no such folder; give a folder, or a name on the hub")
    refused(tmp_path, "it must hold config.json")
    (tmp_path / "config.json").write_text("{")
    refused(tmp_path, "it must hold config.json")


def test_offline_the_error_says_how_to_get_the_checkpoint(transformers, monkeypatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    refused(
        "nobody/no-such-net", "'hf download nobody/no-such-net --local-dir FOLDER' .* and give that folder"
    )


def test_without_the_package_the_error_says_how_to_install_it(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    refused("any", r"need the package transformers; install it with: pip install 'recoseg\[transformers\]'")
