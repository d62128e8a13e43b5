"""The dataset of drawn street scenes: the same everywhere, of any size, and clear about mistakes."""

from __future__ import annotations

import ast
import hashlib
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import recoseg.data.scenes as package
from recoseg.data.scenes import Scenes, scene
from recoseg.data.scenes.stage import Kind
from recoseg.errors import UserError
from recoseg.types import IGNORE

NUM_CLASSES = len(Kind)


def checksum(scenes: Scenes) -> str:
    digest = hashlib.sha256()
    for subset in ("train", "val", "test"):
        for key in scenes.keys(subset):
            digest.update(scenes.image(key).numpy().tobytes())
            digest.update(scenes.labels(key).numpy().tobytes())
    return digest.hexdigest()[:32]


@pytest.mark.parametrize(
    ("height", "width", "expected"),
    [(128, 256, "11959f24bcffd7ab7c05490158a4be7f"), (97, 131, "ff6aaeac91978511c75b45ccd3c469db")],
)
def test_the_bytes_are_the_same_on_every_machine(height: int, width: int, expected: str) -> None:
    scenes = Scenes(height=height, width=width, num_train=6, num_val=2, num_test=1, seed=3)
    assert checksum(scenes) == expected


def test_the_code_uses_nothing_that_rounds_differently_between_machines() -> None:
    inexact = {"exp", "log", "sin", "cos", "tan", "power", "pow", "hypot", "matmul", "dot", "einsum", "fft"}
    order_matters = {"sum", "mean", "std", "cumsum", "average", "convolve"}
    unpromised = {"default_rng", "Generator", "normal", "uniform", "integers", "standard_normal"}
    modules = sorted(Path(package.__file__).parent.glob("*.py"))
    assert len(modules) > 10
    for module in modules:
        for node in ast.walk(ast.parse(module.read_text())):
            name = (
                node.attr
                if isinstance(node, ast.Attribute)
                else node.id
                if isinstance(node, ast.Name)
                else ""
            )
            assert name not in inexact | order_matters | unpromised, f"{module.name}: {name}"


@pytest.mark.parametrize(
    ("height", "width"), [(16, 16), (33, 47), (64, 64), (40, 300), (300, 40), (256, 512)]
)
def test_any_size_gives_images_and_labels_of_that_size_with_known_classes(height: int, width: int) -> None:
    scenes = Scenes(height=height, width=width, num_train=6)
    for key in scenes.keys("train"):
        image, labels = scenes.image(key), scenes.labels(key)
        assert image.shape == (3, height, width)
        assert image.dtype == torch.uint8
        assert labels.shape == (height, width)
        assert labels.dtype == torch.uint8
        assert bool(((labels < NUM_CLASSES) | (labels == IGNORE)).all())
        assert len(labels.unique()) >= 2
        assert image.float().std() > 3


@settings(max_examples=25)
@given(st.integers(16, 90), st.integers(16, 90), st.integers(0, 2**32 - 1))
def test_no_size_and_seed_fails_or_gives_a_label_outside_the_classes(
    height: int, width: int, seed: int
) -> None:
    sample = Scenes(height=height, width=width, seed=seed).sample("train/00000")
    assert sample.image.shape == (3, *sample.labels.shape) == (3, height, width)
    assert set(sample.labels.unique().tolist()) <= {*range(NUM_CLASSES), IGNORE}


def test_a_scene_depends_on_seed_and_key_but_not_on_counts_or_order() -> None:
    few, many = Scenes(num_train=3), Scenes(num_train=50, num_val=1, num_test=9)
    backwards = {key: few.image(key) for key in reversed(few.keys("train"))}
    for key in few.keys("train"):
        assert torch.equal(many.image(key), backwards[key])
    assert not torch.equal(Scenes(seed=1).image("train/00000"), backwards["train/00000"])


def test_no_two_images_of_any_subset_or_seed_are_alike() -> None:
    seen = set()
    for seed in (0, 1, 2**32 - 1):
        scenes = Scenes(height=32, width=64, num_train=5, num_val=5, num_test=5, seed=seed)
        keys = [key for subset in ("train", "val", "test") for key in scenes.keys(subset)]
        seen |= {scenes.labels(key).numpy().tobytes() for key in keys}
    assert len(seen) == 45


def test_at_twice_the_size_it_is_the_same_street() -> None:
    small, large = Scenes(height=64, width=128), Scenes(height=128, width=256)
    for key in small.keys("train")[:8]:
        agree = small.labels(key) == large.labels(key)[::2, ::2]
        assert agree.float().mean() > 0.85


def test_keys_name_their_subset_and_number() -> None:
    scenes = Scenes(num_train=13, num_val=4)
    assert len(scenes.keys("train")) == 13
    assert scenes.keys("train")[12] == "train/00012"
    assert list(scenes.keys("val")) == ["val/00000", "val/00001", "val/00002", "val/00003"]
    assert list(scenes.keys("test")) == []
    assert scenes.has_labels("val/00003")


def test_image_then_labels_draws_once_and_keeps_little(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[tuple[int, ...]] = []
    real: Callable[..., object] = scene.draw_scene

    def counted(*entropy: int, height: int, width: int) -> object:
        drawn.append(entropy)
        return real(*entropy, height=height, width=width)

    monkeypatch.setattr(scene, "draw_scene", counted)
    scenes = Scenes(height=24, width=48, num_train=20, seed=77)
    for key in scenes.keys("train"):
        scenes.image(key)
        scenes.labels(key)
    assert len(drawn) == 20
    scenes.image("train/00000")  # long forgotten
    assert len(drawn) == 21


def test_writing_to_what_was_returned_changes_nothing() -> None:
    scenes = Scenes(height=32, width=32)
    image, labels = scenes.image("train/00000"), scenes.labels("train/00000")
    before = image.clone(), labels.clone()
    image.zero_()
    labels.zero_()
    assert torch.equal(scenes.image("train/00000"), before[0])
    assert torch.equal(scenes.labels("train/00000"), before[1])


def test_it_survives_pickling_and_threads() -> None:
    scenes = Scenes(height=32, width=64, num_train=24)
    copy = pickle.loads(pickle.dumps(scenes))
    keys = list(scenes.keys("train"))
    with ThreadPoolExecutor(4) as pool:
        samples = list(pool.map(copy.sample, keys * 2))
    for key, sample in zip(keys * 2, samples, strict=True):
        assert torch.equal(sample.image, scenes.image(key))
        assert torch.equal(sample.labels, scenes.labels(key))


def test_worker_processes_draw_the_same() -> None:
    class Images(torch.utils.data.Dataset[Tensor]):
        def __len__(self) -> int:
            return 6

        def __getitem__(self, index: int) -> Tensor:
            return scenes.image(scenes.keys("train")[index])

    scenes = Scenes(height=32, width=64, num_train=6)
    loader = torch.utils.data.DataLoader(
        Images(), batch_size=6, num_workers=2, multiprocessing_context="fork"
    )
    expected = torch.stack([scenes.image(key) for key in scenes.keys("train")])
    assert torch.equal(next(iter(loader)), expected)


@pytest.mark.parametrize(
    ("settings_given", "message"),
    [
        ({"height": 15}, "scenes: height is 15; it must be at least 16 pixels"),
        ({"width": -4}, "scenes: width is -4; it must be at least 16 pixels"),
        ({"num_train": -1}, "scenes: num_train is -1; it must be 0 or more"),
        ({"num_val": -2}, "scenes: num_val is -2; it must be 0 or more"),
        ({"num_test": -3}, "scenes: num_test is -3; it must be 0 or more"),
        ({"seed": -1}, "scenes: seed is -1; it must be from 0 to 4294967295"),
        ({"seed": 2**32}, "scenes: seed is 4294967296; it must be from 0 to 4294967295"),
    ],
)
def test_a_bad_setting_is_named_with_what_is_allowed(settings_given: dict[str, int], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Scenes(**settings_given)
    assert str(caught.value) == message


@pytest.mark.parametrize("key", ["train/00256", "val/64", "holiday.png", "test/00000", ""])
def test_an_unknown_key_is_the_users_mistake(key: str) -> None:
    for ask in (Scenes().image, Scenes().labels, Scenes().has_labels):
        with pytest.raises(UserError, match="scenes has no image"):
            ask(key)


def test_an_unknown_subset_is_the_users_mistake() -> None:
    with pytest.raises(UserError, match="'training'; it has train, val, test"):
        Scenes().keys("training")


def test_the_fingerprint_tells_seed_size_and_counts_apart() -> None:
    assert Scenes().fingerprint() == Scenes().fingerprint()
    variants = [{}, {"seed": 1}, {"height": 64}, {"width": 128}, {"num_train": 9}, {"num_val": 9}]
    variants += [{"coarse": True}]
    assert len({Scenes(**variant).fingerprint() for variant in variants}) == len(variants)


def test_classes_have_plain_names_and_colours_of_their_own() -> None:
    classes = Scenes.classes
    assert len(classes) == 16
    assert len(set(classes.palette)) == 16
    assert classes.names[Kind.TRAFFIC_LIGHT] == "traffic light"
    assert {"sky", "building", "road", "vegetation", "person", "rider", "bicycle"} <= set(classes.names)


def test_coarse_classes_are_groups_of_the_fine_ones() -> None:
    fine, coarse = Scenes(height=48, width=96), Scenes(height=48, width=96, coarse=True)
    names = coarse.classes.names
    assert len(names) == len(set(coarse.classes.palette)) == 5
    group = {
        "road": "ground", "sidewalk": "ground", "building": "construction", "wall": "construction",
        "fence": "construction", "vegetation": "vegetation", "sky": "sky", "car": "vehicle",
        "truck": "vehicle", "bus": "vehicle", "bicycle": "vehicle",
    }  # fmt: skip
    for key in fine.keys("train")[:12]:
        assert torch.equal(fine.image(key), coarse.image(key))
        labels, groups = fine.labels(key), coarse.labels(key)
        assert (groups[labels == IGNORE] == IGNORE).all()
        for index, name in enumerate(fine.classes.names):
            wanted = names.index(group[name]) if name in group else IGNORE
            assert (groups[labels == index] == wanted).all()
