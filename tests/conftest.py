"""What all tests share."""

from __future__ import annotations

import multiprocessing
import multiprocessing.context
import multiprocessing.forkserver
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, wraps
from typing import Any

# Tests run in parallel processes; more threads each would only make them wait for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "agg")
# Dozens of child processes import recoseg: it is compiled once, also for users who want no .pyc files.
os.environ["PYTHONDONTWRITEBYTECODE"] = ""

from pathlib import Path

import numpy as np
import pytest
import torch
import torch.export
import torch.onnx
import yaml
from hypothesis import settings
from matplotlib.figure import Figure
from torch import Tensor

import recoseg.progress
from recoseg.data.dataset import Dataset
from recoseg.types import ClassInfo

# What processes of other folders measure of coverage lies where it is looked for.
os.environ.setdefault("COVERAGE_FILE", str(Path(".coverage").resolve()))
sys.dont_write_bytecode = False
torch.set_num_threads(1)
settings.register_profile("recoseg", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("recoseg")

REPOSITORY = Path(__file__).parents[1]
LONG = (
    "cli/test_experiments_ray.py", "cli/test_experiments_run.py", "export/test_formats.py",
    "cli/test_torchrun.py", "cli/test_export.py", "cli/test_resume.py", "test_readme.py",
    "cli/test_picture.py", "cli/test_train.py", "cli/test_semi_supervised.py",
    "losses/test_contrast_sampling.py", "models/test_representation_for_any_network.py",
    "train/test_gradients.py", "cli/test_engine_settings.py", "experiments/plan/test_cells.py",
    "label/test_full_training.py", "label/test_label_command.py",
)  # fmt: skip
"""Files that begin first, the longest before the others, so that no process is left with one in the end."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {REPOSITORY / "tests" / name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.path, len(LONG)))


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session", autouse=True)
def files_that_are_not_forced_onto_the_disk() -> Iterator[None]:
    """No test cuts the power, and waiting for the disk takes a third of a small run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def processes_that_need_not_import_torch() -> Iterator[None]:
    """Where we start processes by "spawn", tests get theirs from a server that has imported all there is.

    They too begin with nothing of ours but what is pickled for them. Commands that tests run as processes of
    their own do start their children by "spawn".
    """
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["torch.distributed", "torch._dynamo", "recoseg.runs.start"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(multiprocessing.context._concrete_contexts, "spawn", server)
        yield


def not_traced(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*arguments: Any, **settings: Any) -> Any:
        tracer = sys.gettrace()
        sys.settrace(None)
        try:
            return function(*arguments, **settings)
        finally:
            sys.settrace(tracer)

    return call


@pytest.fixture(scope="session", autouse=True)
def code_of_others_that_is_not_traced() -> Iterator[None]:
    """Coverage looks at every call: that takes a third of the time where others make thousands of them."""
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in (
            (yaml, "load"), (yaml, "dump_all"), (torch, "load"), (torch, "save"), (Figure, "savefig"),
            (torch.export, "export"), (torch.export, "load"), (torch.export, "save"), (torch.onnx, "export"),
        ):  # fmt: skip
            patch.setattr(owner, name, not_traced(getattr(owner, name)))
        yield


@pytest.fixture(scope="session", autouse=True)
def measured_by_coverage() -> Iterator[dict[str, str]]:
    """What makes child processes measure their coverage, which takes them half as long again.

    Most do nothing that is not measured in this process too, so they are let off; see `covered_children`.
    """
    names = [name for name in os.environ if name.startswith("COVERAGE_PROCESS")]
    with pytest.MonkeyPatch.context() as patch:
        variables = {name: os.environ[name] for name in names}
        for name in names:
            patch.delenv(name)
        yield variables


@pytest.fixture
def covered_children(measured_by_coverage, monkeypatch) -> None:
    """For tests of code that runs in processes of its own only."""
    multiprocessing.forkserver.ensure_running()  # it is not to be measured itself
    for name, value in measured_by_coverage.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def processor_seconds() -> Callable[..., float]:
    """`processor_seconds(action)`: the least of a few runs, which other programs disturb least.

    Even that differs between machines and moments: compare it with another measured in the same test.
    """

    def measure(action: Callable[[], object], *, runs: int = 3) -> float:
        seconds = []
        for _ in range(runs):
            start = time.process_time()
            action()
            seconds.append(time.process_time() - start)
        return min(seconds)

    return measure


@pytest.fixture(scope="session", autouse=True)
def no_lines_of_progress() -> Iterator[None]:
    """Whether a command prints some depends on how busy the machine is; tests of them ask for all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recoseg.progress, "SECONDS_BETWEEN_LINES", float("inf"))
        yield


@cache
def _computes_in(name: str) -> bool:
    """Whether a child process survives a convolution in 16 bits: some virtual machines kill it."""
    code = (
        "import torch\nnetwork = torch.nn.Conv2d(3, 8, 3)\n"
        f"with torch.autocast('cpu', dtype=torch.{name}):\n"
        "    network(torch.rand(2, 3, 32, 32)).float().mean().backward()\n"
    )
    return subprocess.run([sys.executable, "-P", "-c", code], capture_output=True).returncode == 0


@pytest.fixture
def needs_16_bits() -> Callable[[str], None]:
    """`needs_16_bits("bfloat16")`: skips where this CPU has no such convolutions."""

    def need(name: str) -> None:
        if not _computes_in(name):
            pytest.skip(f"this CPU has no convolutions in {name}")

    return need


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real datasets, for slow tests; most machines have none."""
    path = Path(os.environ.get("RECOSEG_DATA", REPOSITORY.parent / "shared" / "data"))
    if not path.is_dir():
        pytest.skip(f"no real data at {path}; set RECOSEG_DATA to a folder that has some")
    return path


Labels = Mapping[str, Any]


class InMemory(Dataset):
    """Labels from arrays; every image is grey. A key whose labels are None has none."""

    name = "memory"

    def __init__(self, labels: Labels, num_classes: int) -> None:
        self.arrays = dict(labels)
        self.reads: list[str] = []
        self.classes = ClassInfo(
            tuple(f"class {k}" for k in range(num_classes)), tuple((k, k, k) for k in range(num_classes))
        )

    def keys(self, subset: str) -> Sequence[str]:
        return tuple(self.arrays) if subset == "train" else ()

    def has_labels(self, key: str) -> bool:
        return self.arrays[key] is not None

    def image(self, key: str) -> Tensor:
        return torch.full((3, *np.asarray(self.arrays[key]).shape), 90, dtype=torch.uint8)

    def labels(self, key: str) -> Tensor:
        self.reads.append(key)
        return torch.from_numpy(np.array(self.arrays[key], dtype=np.uint8))


@pytest.fixture
def in_memory() -> Callable[..., InMemory]:
    """`in_memory({"a": [[0, 1]], ...}, num_classes)`."""
    return InMemory


@pytest.fixture
def of_presence() -> Callable[..., InMemory]:
    """A dataset in which image n is one row of the classes it holds: `of_presence([[0, 1], [2]])`."""

    def build(classes_of_images: Sequence[Sequence[int]], num_classes: int) -> InMemory:
        labels = {f"{n:04d}": [list(classes)] for n, classes in enumerate(classes_of_images)}
        return InMemory(labels, num_classes)

    return build
