"""Running commands as a user would, in this process."""

from __future__ import annotations

import json
import multiprocessing
import os
import runpy
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from PIL import Image

from recoseg.cli.main import main
from recoseg.data.scenes.scene import draw_scene

draw_once = cache(draw_scene)


@pytest.fixture(scope="module", autouse=True)
def scenes_that_are_drawn_once() -> Iterator[None]:
    """Nearly all runs here are on the same few: drawing them takes half of such a run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("recoseg.data.scenes.scene.draw_scene", draw_once)
        yield


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def recoseg(capsys, monkeypatch, tmp_path):
    """`recoseg("train", "--out", ...)` in an empty folder, with the width of a usual terminal.

    Commands that open a run trust the network of `small`, which is code of its own.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def run(*words: object) -> Outcome:
        opens_run = words[:1] in (("predict",), ("evaluate",), ("report",), ("export",))
        trust = ["--trust"] if opens_run and (tmp_path / "small_network.py").exists() else []
        try:
            code = main([*(str(word) for word in words), *trust])
        except SystemExit as ended:  # argparse ends so after --help
            code = int(ended.code or 0)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def tiny() -> list[str]:
    """Settings of a run of a second with a real network."""
    return [
        "--data.height=32", "--data.width=32", "--data.num-train=6", "--data.num-val=2",
        "--augment.crop=32", "--model.encoder=resnet10_small", "--model.decoder-width=8",
        "--train.iterations=4", "--train.labelled-per-step=2",
        "--train.evaluate-every=2", "--train.log-every=1",
    ]  # fmt: skip


@pytest.fixture
def photos(tmp_path) -> Path:
    """A folder of own images: eight photos of other sizes, six of them with labels of three classes."""
    generator = np.random.default_rng(0)
    root = tmp_path / "photos"
    for kind in ("images", "labels"):
        (root / kind).mkdir(parents=True)
    for number in range(8):
        height, width = int(generator.integers(20, 50)), int(generator.integers(20, 50))
        labels = np.zeros((height, width), dtype=np.uint8)
        labels[:, width // 2 :] = 1
        labels[height // 2 :] = 2
        image = generator.integers(0, 60, (height, width, 3)) + labels[..., None] * 90
        Image.fromarray(image.astype(np.uint8)).save(root / "images" / f"p{number}.jpg")
        if number < 6:
            Image.fromarray(labels).save(root / "labels" / f"p{number}.png")
    return root


PATIENCE = 600.0
"""Seconds after which something will never happen, however busy the machine is."""

SMALL_NETWORK = """
from collections import OrderedDict
from torch import nn

def small(num_classes):
    convolution = nn.Conv2d(3, 8, 3, stride=4, padding=1)
    body = nn.Sequential(convolution, nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.1))
    return nn.Sequential(body, nn.Conv2d(8, num_classes, 1))

def divided(num_classes):
    body, head = small(num_classes)
    return nn.Sequential(OrderedDict(encoder=body, head=head))
"""


@pytest.fixture
def small(tmp_path) -> list[str]:
    """Settings of a run of half a second: 3 labelled and 5 unlabelled images, and a network of two layers.

    The network lies in the folder that `recoseg` and `background` work in; `small_network:divided` is the
    same with an encoder by name, for methods that work on what lies behind it.
    """
    (tmp_path / "small_network.py").write_text(SMALL_NETWORK)
    return [
        "--data.height=32", "--data.width=32", "--data.num-train=8", "--data.num-val=3", "--split.labels=3",
        "--split.random=true", "--augment.crop=32", "--model.factory=small_network:small",
        "--train.iterations=4", "--train.labelled-per-step=2", "--train.evaluate-every=2",
        "--train.log-every=1",
    ]  # fmt: skip


@pytest.fixture(scope="session")
def runs_of_before() -> dict[tuple[str, ...], Path]:
    return {}


@pytest.fixture
def trained_run(recoseg, tmp_path, tmp_path_factory, runs_of_before) -> Callable[..., Path]:
    """`trained_run("run", *small)`: a copy of a finished run, which is trained once for all tests.

    For tests of what is done with a run, on data that does not lie in a folder of the test.
    """

    def copy(name: str, *words: str) -> Path:
        if (name, *words) not in runs_of_before:
            outcome = recoseg("train", "--out", name, *words)
            assert outcome.code == 0, outcome.err
            kept = tmp_path_factory.mktemp("trained") / "run"
            runs_of_before[name, *words] = shutil.move(tmp_path / name, kept)
        return shutil.copytree(runs_of_before[name, *words], tmp_path / name)

    return copy


@pytest.fixture(scope="session")
def classmix_and_contrast() -> list[str]:
    """The paper's method, with a threshold that an untrained teacher passes and a contrast of few pixels."""
    return [
        "--method=mean_teacher", "--method.mix=classmix", "--method.trust-above=0.05", "--contrast=reco",
        "--contrast.trust-above=0.05", "--contrast.num-queries=8", "--contrast.num-keys=16",
        "--contrast.feature-channels=8",
    ]  # fmt: skip


SLOW_LAYER = """
import time
import torch
from torch import nn

class Slow(nn.ReLU):
    def forward(self, features):
        if self.training and torch.is_grad_enabled():
            time.sleep({})
        return super().forward(features)
"""


@pytest.fixture
def slow_steps(tmp_path, small) -> Callable[[float], None]:
    """`slow_steps(0.05)`: each step of `small` takes so many seconds more: there is time to do something."""

    def wait(seconds: float) -> None:
        text = SMALL_NETWORK
        if seconds:
            text = text.replace("from torch import nn\n", SLOW_LAYER.format(seconds))
            text = text.replace("nn.ReLU()", "Slow()")
        (tmp_path / "small_network.py").write_text(text)

    return wait


@dataclass(frozen=True)
class Trial:
    """The grid `scenes` in a profile of half a second a run, and what its first seed has left behind."""

    path: Path
    slow_steps: Callable[[float], None]
    words = ("experiments", "run", "scenes", "--trust", "--profile", "trial.yaml", "--seeds", "0", "--runs")

    def change(self, name: str, before: str, after: str) -> None:
        """In one of the files that the trial is made of."""
        text = (self.path / name).read_text()
        assert before in text
        (self.path / name).write_text(text.replace(before, after))

    def last_longer(self, seconds: float = 0.05) -> None:
        """60 steps of so many seconds and more each, so that there is a middle to be interrupted in."""
        self.slow_steps(seconds)
        self.change("trial_scenes.yaml", "iterations: 6, ", "iterations: 60, ")
        self.change("trial_scenes.yaml", "evaluate_every: 2, ", "evaluate_every: 10, ")

    def run_folder(self, row: str, runs: str = "runs") -> Path:
        return self.path / runs / "trial" / "scenes-10" / row / "seed-0"

    def losses(self, row: str) -> list[dict[str, float]]:
        path = self.run_folder(row) / "losses.jsonl"
        return [json.loads(line) for line in path.read_text().split("\n")[:-1]] if path.is_file() else []

    def restarts(self, row: str) -> list[float]:
        """Iterations after which another process went on: its clock began at 0."""
        lines = pairwise(self.losses(row))
        return [now["iteration"] for now, after in lines if after["seconds"] < now["seconds"]]

    def times_trained(self, row: str) -> int:
        """How often a run was trained to the end, by what its commands said."""
        log = self.run_folder(row).with_name("seed-0.log").read_text()
        return sum(line.startswith("run folder: ") for line in log.splitlines())

    def scores(self, row: str, runs: str = "runs") -> dict[str, Any]:
        """Its result without what may differ: times and machines."""
        result = json.loads((self.run_folder(row, runs) / "result.json").read_text())
        return {name: value for name, value in result.items() if name not in ("seconds", "machine")}

    def holder(self, row: str) -> int | None:
        """The process that trains in a run folder, by the system's table of locks."""
        lock = self.run_folder(row) / ".lock"
        locks = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
        inode = lock.stat().st_ino if lock.is_file() else None
        return next((int(words[4]) for words in locks if words[-3].endswith(f":{inode}")), None)


@pytest.fixture
def trial(tmp_path, slow_steps) -> Trial:
    """A grid in the folder of `recoseg` and `background`."""
    (tmp_path / "trial_scenes.yaml").write_text(
        "data: {name: scenes, height: 32, width: 32, num_train: 16, num_val: 3}\n"
        "augment: {crop: [32, 32]}\n"
        "model: {name: factory, factory: 'small_network:small'}\n"
        "train: {iterations: 6, labelled_per_step: 2, evaluate_every: 2, log_every: 1}\n"
    )
    (tmp_path / "trial.yaml").write_text(
        "configs: {scenes: trial_scenes.yaml}\n"
        "mean_teacher: {method.trust_above: 0.05}\n"
        "contrast: {contrast.trust_above: 0.05, contrast.num_queries: 8, contrast.num_keys: 16,\n"
        "           contrast.feature_channels: 8}\n"
    )
    return Trial(tmp_path, slow_steps)


@pytest.fixture
def in_process(monkeypatch) -> list[list[str]]:
    """Commands of cells run in this process: no imports of seconds. Returns the list of what was run.

    What is said while one of them is at work may be in its log: their outputs are one.
    """
    from recoseg.cli.experiments_run import in_this_process
    from recoseg.experiments.running.execute import execute
    from recoseg.experiments.running.workers import LocalWorkers

    ran = []

    def run(self, cell):
        def start(command, log):
            ran.append(command[:2])
            return in_this_process(command, log)

        return execute(cell, start, threads=self.threads)

    monkeypatch.setattr(LocalWorkers, "run", run)
    return ran


@pytest.fixture(scope="session")
def scores_of_before() -> dict[str, dict[str, Any]]:
    return {}


@pytest.fixture
def whole_scores(recoseg, trial, in_process, scores_of_before) -> Callable[[str], dict[str, Any]]:
    """`whole_scores(row)` of a trial that lasts longer, where nothing interrupts it; trained once for all."""

    def scores(row: str) -> dict[str, Any]:
        if row not in scores_of_before:
            trial.slow_steps(0)
            outcome = recoseg(*trial.words, "whole", "--only", row)
            assert outcome.code == 0, outcome.out + outcome.err
            scores_of_before[row] = trial.scores(row, "whole")
            assert scores_of_before[row]["iterations"] == 60
        return scores_of_before[row]

    return scores


class Forked:
    """A command in a process that has imported torch already, as a `subprocess.Popen` of few words."""

    def __init__(self, words: list[str], folder: Path, environment: dict[str, str]) -> None:
        server = multiprocessing.get_context("forkserver")
        (self.stdout, out), (self.stderr, err) = server.Pipe(duplex=False), server.Pipe(duplex=False)
        self.process = server.Process(target=run_command, args=(words, str(folder), environment, out, err))
        self.process.start()
        self.pid, self.terminate = self.process.pid, self.process.terminate
        for pipe in (out, err):
            pipe.close()

    def poll(self) -> int | None:
        return self.process.exitcode

    returncode = property(poll)

    def communicate(self, timeout: float) -> tuple[str, str]:
        """All that it and its children say."""
        said = {self.stdout.fileno(): b"", self.stderr.fileno(): b""}
        deadline, open_pipes = time.monotonic() + timeout, list(said)
        while open_pipes:
            ready = select.select(open_pipes, [], [], max(0.0, deadline - time.monotonic()))[0]
            if not ready:
                raise subprocess.TimeoutExpired("a forked process", timeout)
            for pipe in ready:
                said[pipe] += (more := os.read(pipe, 2**16))
                if not more:
                    open_pipes.remove(pipe)
        self.process.join()
        out, err = (text.decode() for text in said.values())
        return out, err


def run_command(words: list[str], folder: str, environment: dict[str, str], *outputs: Connection) -> None:
    """What a forked process does: as `python -m WORDS` in that folder, with a group of its own."""
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, pipe in enumerate(outputs, start=1):
        os.dup2(pipe.fileno(), number)
        pipe.close()
    sys.path.insert(0, folder)
    sys.argv = words
    runpy.run_module(words[0], run_name="__main__", alter_sys=True)


@dataclass
class Background:
    """A command that runs as a process of its own, with all that it starts in a group of its own."""

    process: subprocess.Popen[str] | Forked
    heard: bytes = b""

    def wait(self, seconds: float = PATIENCE) -> Outcome:
        out, err = self.process.communicate(timeout=seconds)
        return Outcome(self.process.returncode, self.heard.decode() + out, err)

    def signal_all(self, number: signal.Signals) -> None:
        """As a terminal does for Ctrl-C, and a cluster for SIGTERM."""
        os.killpg(self.process.pid, number)

    def wait_for(self, happened: Callable[[], bool], seconds: float = PATIENCE) -> None:
        """Until then; a process that ends before is a failure, with what it said."""
        deadline = time.monotonic() + seconds
        while not happened():
            assert self.process.poll() is None, self.wait()
            assert time.monotonic() < deadline, "it did not happen in time"
            time.sleep(0.01)

    def wait_for_words(self, words: str) -> None:
        """Until it has printed them."""
        assert self.process.stdout is not None
        pipe = self.process.stdout.fileno()

        def said() -> bool:
            if select.select([pipe], [], [], 0)[0]:
                self.heard += os.read(pipe, 2**16)
            return words.encode() in self.heard

        self.wait_for(said)


@pytest.fixture
def background(tmp_path):
    """`background("train", ...)` in the folder of `recoseg`, under torchrun with `processes` over 1.

    `quick` for tests of what a process leaves behind, rather than how it begins and ends.
    """
    started: list[Background] = []

    def start(
        *words: object,
        processes: int = 1,
        torchrun: tuple[str, ...] = (),
        quick: bool = False,
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> Background:
        command = ["recoseg", *(str(word) for word in words)]
        if processes > 1:
            launcher = ["torch.distributed.run", "--standalone", f"--nproc-per-node={processes}", *torchrun]
            command = [*launcher, "-m", *command]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "80", **variables}
        if quick:
            started.append(Background(Forked(command, tmp_path, environment)))
            return started[-1]
        process = subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(Background(process))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.terminate()  # torchrun passes it on to its processes, which are in other groups
            try:
                one.process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                one.signal_all(signal.SIGKILL)


@pytest.fixture(scope="session")
def lines() -> Callable[[Path], list[dict[str, Any]]]:
    """The lines of a .jsonl file, without times; one that is being written is left out."""

    def read(path: Path) -> list[dict[str, Any]]:
        texts = path.read_text().split("\n")[:-1] if path.is_file() else []
        times = {"seconds", "waited"}
        return [{k: v for k, v in json.loads(text).items() if k not in times} for text in texts]

    return read


@pytest.fixture(scope="session")
def require_same_end(lines) -> Callable[[Path, Path], None]:
    """Two runs ended the same: weights and scores to the bit, and losses in every line."""

    def require(first: Path, second: Path) -> None:
        assert (first / "metrics.jsonl").read_text() == (second / "metrics.jsonl").read_text()
        assert lines(first / "losses.jsonl") == lines(second / "losses.jsonl")
        for name in ("weights.safetensors", "best.safetensors"):
            assert (first / name).is_file() == (second / name).is_file()
            if (first / name).is_file():
                assert (first / name).read_bytes() == (second / name).read_bytes(), name

    return require


@pytest.fixture
def full_disk_at(monkeypatch) -> Callable[[int], Any]:
    """`with full_disk_at(3):` training ends with an error before its iteration 3."""
    from recoseg.training import trainer

    original = trainer.Trainer.step

    @contextmanager
    def at(number: int):
        def cut(self, method, pairs, iteration, log):
            if iteration == number:
                raise OSError(28, "No space left on device")
            return original(self, method, pairs, iteration, log)

        with monkeypatch.context() as patch:
            patch.setattr(trainer.Trainer, "step", cut)
            yield

    return at


@pytest.fixture
def small_deeplab(small) -> list[str]:
    """The settings of `small`, with a DeepLab in place of the network of two layers."""
    words = [word for word in small if not word.startswith("--model.")]
    return [*words, "--model.encoder=resnet10_small", "--model.decoder-width=8"]


@pytest.fixture
def light_detector(monkeypatch) -> None:
    """GCT with a flaw detector of a 32nd of the channels."""
    from recoseg.methods import gct

    whole = gct.PixelDiscriminator

    def light(*parts: Any, widths: list[int], **settings: Any) -> Any:
        return whole(*parts, widths=[width // 32 for width in widths], **settings)

    monkeypatch.setattr(gct, "PixelDiscriminator", light)


@pytest.fixture
def segformer(tmp_path) -> str:
    """A folder with a tiny SegFormer, made for 7 classes."""
    transformers = pytest.importorskip("transformers", reason="needs the package transformers")
    config = transformers.SegformerConfig(
        hidden_sizes=[8, 16, 16, 16], depths=[1] * 4, num_attention_heads=[1, 1, 2, 2],
        decoder_hidden_size=16, num_labels=7,
    )  # fmt: skip
    transformers.SegformerForSemanticSegmentation(config).save_pretrained(tmp_path / "segformer")
    return "segformer"
