"""`recoseg.load`: a run folder is all it takes."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file

import recoseg
from recoseg.cli.main import main
from recoseg.config import load as load_config
from recoseg.errors import UserError
from recoseg.models.build import build_model
from recoseg.models.weights import save_weights

SETTINGS = [
    "--data.height=32", "--data.width=32", "--data.num-train=6", "--data.num-val=2", "--augment.crop=32",
    "--model.decoder-width=8", "--model.separable=true", "--train.iterations=2",
    "--train.labelled-per-step=2", "--train.evaluate-every=1", "--contrast=reco",
    "--contrast.num-queries=8", "--contrast.num-keys=16", "--contrast.feature-channels=8",
    "--train.best-on=val",
]  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "trained"
    assert main(["train", "--out", str(path), *SETTINGS]) == 0
    return path


@pytest.fixture
def run(trained, tmp_path):
    """A copy, to be spoilt."""
    return shutil.copytree(trained, tmp_path / "run")


@pytest.fixture
def image():
    return np.random.default_rng(0).integers(0, 256, (40, 50, 3), dtype=np.uint8)


def header(path) -> dict:
    with safe_open(path, framework="pt") as file:
        return json.loads(file.metadata()["recoseg"])


def test_it_says_what_the_network_with_these_weights_says(trained, image) -> None:
    model = recoseg.load(trained, device="cpu")
    config = load_config(trained / "config.yaml")
    network = build_model(config.model, len(model.classes), feature_channels=8, seed=5).eval()
    network.load_state_dict(load_file(trained / "weights.safetensors"))
    with torch.inference_mode():
        logits = network(torch.from_numpy(image).permute(2, 0, 1)[None] / 255).logits
        logits = torch.nn.functional.interpolate(logits, size=(40, 50), mode="bilinear", align_corners=False)
    expected = logits[0].softmax(0).numpy()
    prediction = model(image, probabilities=True)
    assert prediction.probabilities == pytest.approx(expected, abs=1e-5)
    assert (prediction.labels == expected.argmax(0)).mean() > 0.999
    assert prediction.classes.names == tuple(header(trained / "weights.safetensors")["classes"])


def test_the_network_has_no_representation_head(trained) -> None:
    model = recoseg.load(str(trained))
    assert not [name for name in model.network.state_dict() if "representation" in name]
    assert not model.network.training
    assert model.network(torch.rand(1, 3, 32, 32)).features is None


def test_the_data_need_not_be_there(run, image) -> None:
    config = (run / "config.yaml").read_text()
    folder = {"name": "folder", "root": "/gone/away"}
    lines = [f"  {name}: {value}" for name, value in folder.items()]
    start = config.index("data:\n") + len("data:\n")
    end = next(
        place for place in range(start, len(config)) if config[place - 1] == "\n" and config[place] != " "
    )
    (run / "config.yaml").write_text(config[:start] + "\n".join(lines) + "\n" + config[end:])
    assert recoseg.load(run)(image).labels.shape == (40, 50)


def test_the_best_weights_are_other_weights(run) -> None:
    save_weights(
        run / "best.safetensors",
        {name: value + 1 for name, value in load_file(run / "weights.safetensors").items()},
        header(run / "weights.safetensors"),
    )
    last, best = recoseg.load(run), recoseg.load(run, weights="best")
    name, parameter = next(iter(last.network.named_parameters()))
    assert torch.equal(best.network.get_parameter(name), parameter + 1)


def test_looks_are_taken_as_given(trained) -> None:
    model = recoseg.load(trained, window=64, overlap=0.5, flip=True, scales=[0.5, 1])
    assert repr(model).endswith("windows of 64, overlap 0.5, flipped, scales 0.5 1>")


def test_a_run_without_weights_says_so(run) -> None:
    (run / "weights.safetensors").unlink()
    with pytest.raises(UserError, match="has no weights yet: train it"):
        recoseg.load(run)


def test_a_run_without_best_weights_says_so(run) -> None:
    (run / "best.safetensors").unlink()
    with pytest.raises(UserError, match="kept no best weights"):
        recoseg.load(run, weights="best")


@pytest.mark.parametrize(
    "spoil", [lambda content: content[:100], lambda content: b"", lambda content: b"x" * 50]
)
def test_damaged_weights_are_named(run, spoil) -> None:
    path = run / "weights.safetensors"
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(UserError, match=r"weights\.safetensors: not a readable weights file"):
        recoseg.load(run)


def test_weights_of_another_class_count_are_refused_with_both_counts(run) -> None:
    path = run / "weights.safetensors"
    about = header(path)
    count = len(about["classes"])
    about["classes"], about["palette"] = about["classes"][:2], about["palette"][:2]
    save_weights(path, load_file(path), about)
    message = (
        rf"network of 2 classes as in .*config\.yaml: .*\({count}x8x1x1 in the file, 2x8x1x1 in the network"
    )
    with pytest.raises(UserError, match=message):
        recoseg.load(run)


@pytest.mark.parametrize(
    ("header", "says"),
    [
        (None, "does not name its classes; only weights that recoseg trained do"),
        ({"recoseg": "{}"}, "header: classes is missing"),
        ({"recoseg": '{"classes": ["a", "b"]}'}, "header: palette is missing"),
    ],
)
def test_weights_of_others_do_not_tell_their_classes(run, header, says) -> None:
    from safetensors.torch import save_file

    path = run / "weights.safetensors"
    save_file(load_file(path), path, metadata=header)
    with pytest.raises(UserError, match=rf"weights\.safetensors: {says}"):
        recoseg.load(run)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"weights": "newest"}, "weights: got 'newest', needs last or best"),
        ({"device": "gpu"}, "^device: 'gpu' cannot be used here"),
        ({"window": 3}, "window: got 3"),
    ],
)
def test_wrong_settings_are_refused(trained, settings, message) -> None:
    with pytest.raises(UserError, match=message):
        recoseg.load(trained, **settings)


def test_a_folder_that_is_no_run_is_refused(tmp_path) -> None:
    with pytest.raises(UserError, match="is not a run of recoseg"):
        recoseg.load(tmp_path)
