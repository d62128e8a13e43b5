"""One step's images and gradients are the same however many processes and parts share it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed
import torch.multiprocessing
from PIL import Image
from rich.console import Console
from torch import Tensor

from recoseg.config import load
from recoseg.data.build import build_dataset
from recoseg.runs.start import build_trainer
from recoseg.splits.draw import build_split
from recoseg.training import processes
from recoseg.training.log import PartMeans
from recoseg.training.processes import agree, by_first, from_first, in_parallel, is_first, share_buffers
from recoseg.training.run_folder import RunFolder
from recoseg.training.trainer import Trainer

PLAIN = [
    "--augment.crop=32", "--augment.scale=1", "--augment.jitter=0", "--augment.blur=0", "--augment.flip=0",
    "--split.labels=4", "--split.random=true", "--model.decoder-width=8", "--model.separable=true",
    "--model.dropout=0", "--model.frozen-batch-norm=all", "--train.labelled-per-step=8",
]  # fmt: skip
"""Nothing random but the choice of images, and no image that changes another's result."""
METHODS = {
    "supervised": ["--method=supervised"],
    "mean_teacher": ["--method=mean_teacher", "--method.mix=none", "--method.trust-above=0"],
}
ITERATION = 3


def write_images(root: Path) -> Path:
    """Ten images of 32x32 with a label for each pixel, in three classes."""
    generator = np.random.default_rng(0)
    for kind in ("images", "labels"):
        (root / kind).mkdir(parents=True)
    for number in range(10):
        labels = generator.integers(0, 3, (4, 4)).repeat(8, 0).repeat(8, 1).astype(np.uint8)
        image = generator.integers(0, 60, (32, 32, 3)) + labels[..., None] * 90
        Image.fromarray(image.astype(np.uint8)).save(root / "images" / f"{number}.png")
        Image.fromarray(labels).save(root / "labels" / f"{number}.png")
    return root


def trainer_of(folder: Path, words: list[str]) -> Trainer:
    config = load(None, ["--data", str(folder / "photos"), *PLAIN, *words])
    dataset = build_dataset(config.data)
    split = build_split(config.split, dataset)
    return build_trainer(config, dataset, split, folder=lambda: RunFolder(folder))


def one_step(folder: Path, words: list[str]) -> dict[str, Any]:
    """The gradients of one step, its loss, and the keys of this process's images."""
    trainer = trainer_of(folder, words)
    trainer.method.train()
    step = in_parallel(trainer.method, trainer.device)
    with trainer.new_log(0, Console(quiet=True)) as log:
        pairs = trainer.batches.from_iteration(ITERATION, ITERATION + 1, workers=0)
        output = trainer.step(step, pairs, ITERATION, log)
    parts = trainer.batches.parts
    shown = [trainer.batches[ITERATION * parts + part] for part in range(parts)]
    keys = [[key for pair in shown if pair[kind] for key in pair[kind].keys] for kind in (0, 1)]
    gradients = {name: p.grad for name, p in trainer.method.named_parameters() if p.requires_grad}
    return {"gradients": gradients, "loss": output.loss, "keys": keys}


def one_process(process: int, folder: str) -> None:
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=process, world_size=2
    )
    found: dict[str, Any] = {}
    for method, words in METHODS.items():
        for parts in (1, 2):
            found[f"{method} {parts}"] = one_step(Path(folder), [*words, f"--train.accumulate={parts}"])
    found |= agreements(process)
    torch.save(found, f"{folder}/{process}.pt")
    torch.distributed.destroy_process_group()


def agreements(process: int) -> dict[str, Any]:
    """What two processes that differ make of a flag, a text, buffers and means."""
    norm = torch.nn.BatchNorm1d(2)
    norm.running_mean.fill_(process + 1)
    share_buffers(norm)
    means, resumed = PartMeans(), PartMeans()
    means.add({"loss": torch.tensor((1e8, 1.0)[process])})  # half of their sum has no place in a float32
    resumed.restore(means.state(), torch.device("cpu"))
    saved = means.state()["sums"]["loss"]
    for one in (means, resumed):
        one.add({"loss": torch.tensor((-1e8, 0.0)[process])})
    return {
        "agree": [agree(flag, torch.device("cpu")) for flag in (process == 1, False)],
        "from first": from_first(f"text of {process}"),
        "by first": by_first(lambda: f"done by {process}"),
        "if it fails": if_the_first_fails(),
        "is first": is_first(),
        "buffers": norm.running_mean,
        "saved sums": saved,
        "means": (means.take(), resumed.take()),
    }


def if_the_first_fails() -> str:
    """How each of two processes ends then."""
    processes.SECONDS_TO_SAY_WHY = 0.0
    try:
        by_first(lambda: 1 // 0)
    except ZeroDivisionError:
        return "says why"
    except SystemExit as end:
        return f"ends with {end.code}"
    return "goes on"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("processes")
    write_images(folder / "photos")
    build_dataset(load(None, ["--data", str(folder / "photos")]).data).keys(
        "val"
    )  # chosen once, kept in a file
    return folder


@pytest.fixture(scope="module")
def found(folder: Path) -> list[dict[str, Any]]:
    torch.multiprocessing.spawn(one_process, args=(str(folder),), nprocs=2)
    return [torch.load(folder / f"{process}.pt") for process in range(2)]


@pytest.fixture(scope="module")
def whole(folder: Path) -> dict[str, dict[str, Any]]:
    """The same steps in one process and one part."""
    return {method: one_step(folder, words) for method, words in METHODS.items()}


def require_same_gradients(found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, gradient in expected.items():
        torch.testing.assert_close(found[name], gradient, rtol=1e-3, atol=1e-6, msg=name)
    assert sum(bool(gradient.any()) for gradient in expected.values()) > len(expected) / 2


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("method", METHODS)
def test_two_processes_see_the_images_and_have_the_gradients_of_one(found, whole, method, parts) -> None:
    expected = whole[method]
    shares = [process[f"{method} {parts}"] for process in found]
    for kind, of_one in enumerate(expected["keys"]):
        assert Counter(key for share in shares for key in share["keys"][kind]) == Counter(of_one)
    assert shares[0]["keys"] != shares[1]["keys"]
    for share in shares:
        require_same_gradients(share["gradients"], expected["gradients"])
    torch.testing.assert_close((shares[0]["loss"] + shares[1]["loss"]) / 2, expected["loss"])


@pytest.mark.parametrize("method", METHODS)
def test_a_step_in_parts_has_the_gradient_of_the_whole_step(folder, whole, method) -> None:
    for parts in (2, 4):
        in_parts = one_step(folder, [*METHODS[method], f"--train.accumulate={parts}"])
        require_same_gradients(in_parts["gradients"], whole[method]["gradients"])
        torch.testing.assert_close(in_parts["loss"], whole[method]["loss"])
        assert in_parts["keys"] == whole[method]["keys"]


def test_processes_agree_when_one_of_them_says_so(found) -> None:
    assert [process["agree"] for process in found] == [[True, False]] * 2


def test_the_first_process_decides_and_does_what_is_done_once(found) -> None:
    assert [process["from first"] for process in found] == ["text of 0"] * 2
    assert [process["by first"] for process in found] == ["done by 0", None]
    assert [process["if it fails"] for process in found] == ["says why", "ends with 1"]
    assert [process["is first"] for process in found] == [True, False]
    assert [process["buffers"].tolist() for process in found] == [[1, 1]] * 2


def test_means_are_those_of_both_and_go_on_exactly_after_a_restart(found) -> None:
    for process in found:
        assert process["saved sums"].tolist() == [1e8, 1.0]
        taken, resumed = process["means"]
        assert taken == resumed
        assert taken == {"loss": 0.25}
