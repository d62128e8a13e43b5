"""Weights from files: every wrapping that people publish, and nothing that runs code."""

from __future__ import annotations

import os
import pickle

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from recoseg.errors import UserError
from recoseg.models.weights import load_weights


def small() -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4))


@pytest.mark.parametrize("wrapper", [None, "state_dict", "model"])
@pytest.mark.parametrize("prefix", ["", "module.", "backbone.", "encoder.", "module.backbone."])
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
    assert str(report) == "w.pth: 6 of 7 tensors matched; 1 missing (0.bias); 1 left over (head.weight)"


def test_under_half_matched_is_an_error(tmp_path) -> None:
    torch.save({"other.weight": torch.zeros(1)}, tmp_path / "w.pth")
    with pytest.raises(UserError, match="only 0 of the network's 7 tensors"):
        load_weights(small(), tmp_path / "w.pth")


def test_the_encoder_is_found_inside_the_file_of_a_whole_network(tmp_path) -> None:
    source, target = small(), small()
    tensors = {f"backbone.{name}": tensor for name, tensor in source.state_dict().items()}
    torch.save({**tensors, "decoder.0.weight": torch.zeros(2)}, tmp_path / "w.pth")
    report = load_weights(target, tmp_path / "w.pth")
    assert (report.missing, report.left_over) == ([], ["decoder.0.weight"])
    assert torch.equal(source[0].weight, target[0].weight)


def test_a_prefix_that_the_network_has_itself_stays(tmp_path) -> None:
    source, target = (nn.ModuleDict({"encoder": small()}) for _ in range(2))
    torch.save(source.state_dict(), tmp_path / "w.pth")
    assert load_weights(target, tmp_path / "w.pth", strict=True).matched == list(source.state_dict())
    assert torch.equal(source["encoder"][0].weight, target["encoder"][0].weight)


@pytest.mark.parametrize("kind", [torch.int32, torch.int8, torch.bool])
def test_whole_numbers_are_no_weights(tmp_path, kind) -> None:
    tensors = {**small().state_dict(), "0.weight": small()[0].weight.detach().to(kind)}
    torch.save(tensors, tmp_path / "w.pth")
    with pytest.raises(UserError, match=r"w\.pth: holds \w+ in 0\.weight, which needs a floating point"):
        load_weights(small(), tmp_path / "w.pth")


def test_what_is_not_needed_is_told_from_what_is_left_over(tmp_path) -> None:
    tensors = {f"module.{name}": tensor for name, tensor in small().state_dict().items()}
    torch.save({**tensors, "module.fc.bias": torch.zeros(2)}, tmp_path / "w.pth")
    report = load_weights(small(), tmp_path / "w.pth", not_needed=("fc.",))
    assert (report.left_over, report.not_needed) == ([], ["module.fc.bias"])
    assert str(report) == "w.pth: all 7 tensors matched; its classifier is not needed"


def with_classes(num_classes) -> nn.Sequential:
    return nn.Sequential(*small(), nn.Conv2d(4, num_classes, 1))


def test_other_classes_are_an_error_that_names_the_layer(tmp_path) -> None:
    torch.save(with_classes(19).state_dict(), tmp_path / "w.pth")
    target = with_classes(5)
    before = {name: tensor.clone() for name, tensor in target.state_dict().items()}
    with pytest.raises(
        UserError, match=r"another shape: 2 \(19x4x1x1 in the file, 5x4x1x1 in the network\);"
    ):
        load_weights(target, tmp_path / "w.pth")
    assert all(torch.equal(tensor, before[name]) for name, tensor in target.state_dict().items())


def test_reinitialise_keeps_the_fresh_start_of_layers_whose_shape_differs(tmp_path) -> None:
    source, target = with_classes(19), with_classes(5)
    fresh = target[2].weight.clone(), target[2].bias.clone()
    torch.save(source.state_dict(), tmp_path / "w.pth")
    report = load_weights(target, tmp_path / "w.pth", reinitialise=True)
    assert torch.equal(target[0].weight, source[0].weight)
    assert torch.equal(target[2].weight, fresh[0])
    assert torch.equal(target[2].bias, fresh[1])
    assert report.reinitialised == ["2.weight", "2.bias"]
    assert str(report) == "w.pth: 7 of 9 tensors matched; started afresh for their shape: 2"


def test_a_layer_starts_afresh_as_a_whole(tmp_path) -> None:
    """A bias fits whatever the layer reads, but it belongs to the weights that it was learned with."""
    source, target = (nn.Sequential(*small(), nn.Conv2d(inputs, 3, 1)) for inputs in (8, 4))
    fresh = target[2].bias.clone()
    torch.save(source.state_dict(), tmp_path / "w.pth")
    report = load_weights(target, tmp_path / "w.pth", reinitialise=True)
    assert report.reinitialised == ["2.weight", "2.bias"]
    assert torch.equal(target[2].bias, fresh)


def test_where_all_shapes_agree_reinitialise_changes_nothing(tmp_path) -> None:
    source, target = with_classes(5), with_classes(5)
    torch.save(source.state_dict(), tmp_path / "w.pth")
    assert load_weights(target, tmp_path / "w.pth", reinitialise=True).reinitialised == []
    assert all(map(torch.equal, target.state_dict().values(), source.state_dict().values()))


def test_strict_refuses_other_shapes_and_missing_tensors(tmp_path) -> None:
    torch.save(with_classes(19).state_dict(), tmp_path / "w.pth")
    with pytest.raises(UserError, match="another shape: 2"):
        load_weights(with_classes(5), tmp_path / "w.pth", strict=True, reinitialise=True)
    torch.save(small().state_dict(), tmp_path / "w.pth")
    with pytest.raises(
        UserError, match=r"does not fit this network \(w.pth: 7 of 9 .*2 missing \(2.weight, 2.b"
    ):
        load_weights(with_classes(5), tmp_path / "w.pth", strict=True)


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


def test_a_run_folder_is_answered_with_the_file_inside(tmp_path) -> None:
    with pytest.raises(UserError, match=r"is a folder; give the file itself, such as .*/weights.safetensors"):
        load_weights(small(), tmp_path)
