"""Hidden is hidden: what lies in hidden masks, or whether they exist at all, changes nothing in a run."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from PIL import Image

DIVIDED = "--model.factory=small_network:divided"
SHAPE = (40, 48)
NUM_TRAIN, NUM_LABELLED = 8, 3


@pytest.fixture
def data(tmp_path):
    """A folder of ten labelled images; two of them validate."""
    generator = np.random.default_rng(0)
    root = tmp_path / "clean"
    for kind in ("images", "labels"):
        (root / kind).mkdir(parents=True)
    for number in range(NUM_TRAIN + 2):
        labels = generator.integers(0, 3, (5, 6)).repeat(8, 0).repeat(8, 1).astype(np.uint8)
        image = generator.integers(0, 60, (*SHAPE, 3)) + labels[..., None] * 90
        Image.fromarray(image.astype(np.uint8)).save(root / "images" / f"p{number}.png")
        Image.fromarray(labels).save(root / "labels" / f"p{number}.png")
    (root / "train.txt").write_text("".join(f"p{number}\n" for number in range(NUM_TRAIN)))
    (root / "val.txt").write_text("".join(f"p{number}\n" for number in range(NUM_TRAIN, NUM_TRAIN + 2)))
    (root / "classes.json").write_text('{"names": ["a", "b", "c"], "format": "index"}')
    return root


def wrong_classes(path) -> None:
    labels = np.array(Image.open(path))
    Image.fromarray((2 - labels).astype(np.uint8)).save(path)


def unknown_values(path) -> None:
    Image.fromarray(np.full(SHAPE, 77, dtype=np.uint8)).save(path)


def another_size(path) -> None:
    Image.fromarray(np.zeros((3, 3), dtype=np.uint8)).save(path)


def cut_short(path) -> None:
    path.write_bytes(path.read_bytes()[:40])


def removed(path) -> None:
    path.unlink()


def weights_and_metrics(run) -> tuple[bytes, bytes]:
    return (run / "weights.safetensors").read_bytes(), (run / "metrics.jsonl").read_bytes()


@pytest.fixture
def poisoned(data, recoseg, tmp_path):
    """`poisoned(wrong_classes)`: a copy of the data with poison in masks that the split split.json hides."""

    def make(poison, of="unlabelled"):
        assert recoseg("split", data, "--labels", NUM_LABELLED, "--out", "split.json").code == 0
        keys = json.loads((tmp_path / "split.json").read_text())[of]
        assert len(keys) == (NUM_LABELLED if of == "labelled" else NUM_TRAIN - NUM_LABELLED)
        root = tmp_path / "poisoned"
        shutil.copytree(data, root)
        for key in keys:
            poison(root / "labels" / f"{key}.png")
        return root

    return make


@pytest.fixture
def train(recoseg, small, tmp_path):
    """`train(root, *settings)`: the weights and scores of a run by the split split.json."""

    def run(root, *more, network=small):
        settings = [word for word in network if not word.startswith(("--data.", "--split."))]
        settings += ["--augment.scale=0.5,1.5", "--split.file=split.json", "--no-page", *more]
        outcome = recoseg("train", "--data", root, "--out", f"{root.name}-run", *settings)
        assert outcome.code == 0, outcome.err
        return weights_and_metrics(tmp_path / f"{root.name}-run")

    return run


@pytest.mark.parametrize("poison", [wrong_classes, unknown_values, another_size, cut_short, removed])
def test_poison_in_hidden_masks_leaves_a_run_bit_identical(data, poisoned, train, poison) -> None:
    root = poisoned(poison)
    assert train(data) == train(root)


def test_poison_in_a_visible_mask_does_change_the_run(data, poisoned, train) -> None:
    """The test above would otherwise pass for a run that reads no labels at all."""
    root = poisoned(wrong_classes, of="labelled")
    assert train(data) != train(root)


CONTRAST = ["--contrast.num-queries=8", "--contrast.num-keys=16", "--contrast.feature-channels=8"]
SEMI_SUPERVISED = {
    "classmix": ["--method=mean_teacher", "--method.trust-above=0", "--contrast.trust-above=0"],
    "soft": ["--method=mean_teacher", "--method.mix=none", "--method.consistency=probabilities"],
    "vat": ["--method=vat", "--method.trust-above=0"],
    "cct": ["--method=cct"],
    "s4gan": ["--method=s4gan", "--method.self-above=0", "--contrast.trust-above=0"],
    **{
        name: [f"--method={name}", "--method.pixel_above=0.4", DIVIDED]
        for name in ("fixmatch", "unimatch", "unimatch_v2", "prevmatch")
    },
    **{name: [f"--method={name}", DIVIDED] for name in ("pseudoseg", "dmt")},
}


@pytest.mark.parametrize("method", SEMI_SUPERVISED)
def test_poison_in_hidden_masks_changes_nothing_in_a_method_that_sees_their_images(
    data, poisoned, train, method
) -> None:
    root = poisoned(wrong_classes)
    settings = [*CONTRAST, *SEMI_SUPERVISED[method]]
    assert train(data, *settings) == train(root, *settings)


@pytest.mark.usefixtures("light_detector")
@pytest.mark.parametrize("method", ["advsemseg", "gct", "ecs"])
def test_poison_in_hidden_masks_changes_nothing_for_networks_that_judge_others(
    data, poisoned, train, small_deeplab, method
) -> None:
    root = poisoned(wrong_classes)
    settings = [f"--method={method}", *CONTRAST, "--train.iterations=2"]
    settings += ["--augment.crop=96"] if method == "gct" else []
    assert train(data, *settings, network=small_deeplab) == train(root, *settings, network=small_deeplab)


@pytest.mark.parametrize("pixels", ["1", "5%"])
def test_poison_in_hidden_pixels_leaves_a_run_bit_identical(data, recoseg, train, tmp_path, pixels) -> None:
    """Classes trade places outside the visible pixels, in equal numbers, so that shares stay the same."""
    assert recoseg("split", data, "--pixels", pixels, "--out", "split.json").code == 0
    points = json.loads((tmp_path / "split.json").read_text())["points"]
    root = tmp_path / "poisoned"
    shutil.copytree(data, root)
    for key, text in points.items():
        path = root / "labels" / f"{key}.png"
        labels = np.array(Image.open(path))
        Image.fromarray(traded(labels, text, pixels)).save(path)
    assert train(data) == train(root)


def traded(labels: np.ndarray, points: str, pixels: str) -> np.ndarray:
    """The labels with two hidden pixels of different classes exchanged, far from every point."""
    from recoseg.splits.label_split import points_of
    from recoseg.splits.labelled_pixels import PixelBudget

    budget, places = PixelBudget.parse(pixels), points_of(points)
    seen = budget.visible(labels, places)
    generator = np.random.default_rng(0)
    hidden = np.argwhere(seen == 255)
    for _ in range(1000):
        (row, column), (other_row, other_column) = hidden[generator.integers(len(hidden), size=2)]
        changed = labels.copy()
        changed[row, column] = labels[other_row, other_column]
        changed[other_row, other_column] = labels[row, column]
        same = np.array_equal(budget.visible(changed, places), seen)
        if same and not np.array_equal(changed, labels):
            return changed
    raise AssertionError("no two hidden pixels can be exchanged")
