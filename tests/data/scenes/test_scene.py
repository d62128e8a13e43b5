"""Drawn street scenes: the same everywhere, of any size, with all classes, and not separable by colour."""

from __future__ import annotations

import ast
import hashlib
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor

import recoseg.data.scenes as package
from recoseg.data.scenes import Scenes
from recoseg.data.scenes.classes import Kind
from recoseg.data.scenes.scene import draw_scene
from recoseg.errors import UserError
from recoseg.evaluate.scores import Scores
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
    [(128, 256, "c372f342ef057b28d52c0181acb8859a"), (97, 131, "67171b945319fcac8abeb8ad090bb94d")],
)
def test_the_bytes_are_the_same_on_every_machine(height: int, width: int, expected: str) -> None:
    scenes = Scenes(height=height, width=width, num_train=6, num_val=2, num_test=1, seed=3)
    assert checksum(scenes) == expected


def test_the_code_uses_nothing_that_rounds_differently_between_machines() -> None:
    inexact = {"exp", "log", "sin", "cos", "tan", "power", "pow", "hypot", "matmul", "dot", "einsum", "fft"}
    order_matters = {"sum", "mean", "std", "cumsum", "average", "convolve"}
    unpromised = {"default_rng", "Generator", "normal", "uniform", "integers", "standard_normal"}
    modules = sorted(Path(package.__file__).parent.glob("*.py"))
    assert len(modules) >= 8
    for module in modules:
        for node in ast.walk(ast.parse(module.read_text())):
            name = getattr(node, "attr", getattr(node, "id", ""))
            assert name not in inexact | order_matters | unpromised, f"{module.name}: {name}"


@settings(max_examples=20, deadline=None)
@example(16, 16, 0)
@example(40, 300, 1)
@example(300, 40, 2**32 - 1)
@given(st.integers(16, 90), st.integers(16, 90), st.integers(0, 2**32 - 1))
def test_any_size_and_seed_gives_an_image_with_known_classes(height: int, width: int, seed: int) -> None:
    sample = Scenes(height=height, width=width, seed=seed).sample("train/00000")
    assert sample.image.shape == (3, *sample.labels.shape) == (3, height, width)
    assert sample.image.dtype == sample.labels.dtype == torch.uint8
    assert set(sample.labels.unique().tolist()) <= {*range(NUM_CLASSES), IGNORE}
    assert sample.image.float().std() > 2


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


def test_image_then_labels_draws_once_and_keeps_little() -> None:
    scenes = Scenes(height=24, width=48, num_train=20, seed=77)
    draw_scene.cache_clear()
    for key in scenes.keys("train"):
        scenes.image(key)
        scenes.labels(key)
    assert draw_scene.cache_info().misses == 20
    assert draw_scene.cache_info().currsize <= 8


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


@pytest.mark.parametrize(
    ("setting", "value", "limit"),
    [
        ("height", 15, "16"), ("width", -4, "16"),
        ("num_train", -1, "0"), ("num_val", -2, "0"), ("num_test", -3, "0"),
        ("seed", -1, "from 0 to 4294967295"), ("seed", 2**32, "from 0 to 4294967295"),
    ],
)  # fmt: skip
def test_a_bad_setting_is_named_with_what_is_allowed(setting: str, value: int, limit: str) -> None:
    with pytest.raises(UserError, match=f"scenes: {setting} is {value}; .* {limit}"):
        Scenes(**{setting: value})


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


# What the scenes show


@dataclass(frozen=True)
class Drawn:
    """Images (N, 3, H, W) and labels (N, H, W) of one subset."""

    images: Tensor
    labels: Tensor


def draw(scenes: Scenes, subset: str) -> Drawn:
    samples = [scenes.sample(key) for key in scenes.keys(subset)]
    return Drawn(torch.stack([s.image for s in samples]), torch.stack([s.labels for s in samples]))


@pytest.fixture(scope="module")
def train() -> Drawn:
    return draw(Scenes(num_train=200, height=64, width=128), "train")


def test_every_class_is_in_a_tenth_of_the_images_and_small_things_stay_small(train: Drawn) -> None:
    for kind in Kind:
        is_kind = train.labels == kind
        assert is_kind.flatten(1).any(1).float().mean() >= 0.1, kind.name
    for kind in (Kind.TRAFFIC_LIGHT, Kind.TRAFFIC_SIGN, Kind.RIDER, Kind.BICYCLE, Kind.POLE, Kind.PERSON):
        assert 0.0005 < (train.labels == kind).float().mean() < 0.03, kind.name


def test_large_classes_have_their_places(train: Drawn) -> None:
    rows = torch.arange(64.0)[:, None]
    masks = {kind: train.labels == kind for kind in Kind}
    heights = {kind: float((rows * mask).sum() / mask.sum()) for kind, mask in masks.items()}
    assert heights[Kind.SKY] < heights[Kind.BUILDING] < heights[Kind.CAR] < heights[Kind.ROAD]
    for kind, least in ((Kind.ROAD, 0.15), (Kind.BUILDING, 0.12), (Kind.SKY, 0.05), (Kind.VEGETATION, 0.05)):
        assert masks[kind].float().mean() > least, kind.name


def test_some_pixels_are_void_but_few(train: Drawn) -> None:
    assert 0.005 < (train.labels == IGNORE).float().mean() < 0.06


def test_borders_of_labels_lie_on_borders_of_images() -> None:
    """The step from pixel to pixel is larger where labels differ than inside of a class."""
    drawn = draw(Scenes(num_train=24), "train")
    steps = drawn.images.float().diff(dim=3).abs().mean(1)  # (N, H, W - 1)
    differ = drawn.labels[:, :, 1:] != drawn.labels[:, :, :-1]
    assert steps[differ].mean() > 2.5 * steps[~differ].mean()


def test_the_nearest_mean_colour_does_not_give_the_classes(train: Drawn) -> None:
    val = draw(Scenes(num_val=24, height=64, width=128), "val")
    pixels = train.images.movedim(1, -1).float()
    means = torch.stack([pixels[train.labels == kind].mean(0) for kind in Kind])
    known = val.labels != IGNORE
    guess = torch.cdist(val.images.movedim(1, -1)[known].float(), means).argmin(1)
    counts = torch.bincount(val.labels[known].long() * NUM_CLASSES + guess, minlength=NUM_CLASSES**2)
    assert Scores(counts.view(NUM_CLASSES, NUM_CLASSES)).mean_iou < 0.30


MEASURE = """
import io
import time
from statistics import median
from PIL import Image
from recoseg.data.scenes import Scenes

scenes = Scenes(num_train=65, seed=101)
first, *others = scenes.keys("train")
picture = Image.fromarray(scenes.image(first).permute(1, 2, 0).numpy())

def draw(keys):
    for key in keys:
        scenes.image(key)
        scenes.labels(key)

def write_and_read(keys):
    for _ in keys:
        file = io.BytesIO()
        picture.save(file, "png")
        Image.open(file).load()

def seconds(work, keys):
    start = time.process_time()
    work(keys)
    return time.process_time() - start

# by turns: a slow moment slows both
parts = [others[start : start + 8] for start in range(0, 64, 8)]
print(median(seconds(draw, part) / seconds(write_and_read, part) for part in parts))
"""


def test_drawing_an_image_takes_less_than_four_times_as_long_as_its_png() -> None:
    # in a separate process, which no coverage tool slows down, and in processor time: other tests run too
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    environment |= {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", MEASURE]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert float(result.stdout) < 4
