"""A small world to plant faults in; a planted fault must lead to one clear line, and nothing lost."""

from __future__ import annotations

import os
import shutil
import signal
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from recoseg.cli.main import main

NETWORK = """
from torch import nn

def small(num_classes):
    return nn.Sequential(nn.Conv2d(3, 4, 3, stride=4, padding=1), nn.ReLU(), nn.Conv2d(4, num_classes, 1))
"""


@dataclass(frozen=True)
class World:
    """The current folder of a user: images with labels for some, and a run that was trained on them."""

    path: Path

    @property
    def photos(self) -> Path:
        """Four images, three with labels of two classes: `images/p0.png`, `labels/p0.png`, ..."""
        return self.path / "photos"

    @property
    def run(self) -> Path:
        """A finished run on them, of DeepLabV3+ at its smallest."""
        return self.path / "run"


Plant = Callable[[World], object]


@pytest.fixture(scope="session")
def first_world(tmp_path_factory) -> World:
    """The one that all others are copies of."""
    world = World(tmp_path_factory.mktemp("world"))
    generator = np.random.default_rng(0)
    for kind in ("images", "labels"):
        (world.photos / kind).mkdir(parents=True)
    for number in range(4):
        labels = np.zeros((32, 40), dtype=np.uint8)
        labels[:, 10 + 5 * number :] = 1
        image = generator.integers(0, 60, (32, 40, 3)) + labels[..., None] * 90
        Image.fromarray(image.astype(np.uint8)).save(world.photos / "images" / f"p{number}.png")
        if number < 3:
            Image.fromarray(labels).save(world.photos / "labels" / f"p{number}.png")
    words = [
        "train", "--data", world.photos, "--out", world.run, "--augment.crop=32", "--model.decoder-width=8",
        "--model.separable=true", "--train.iterations=2", "--train.labelled-per-step=2",
        "--train.evaluate-every=1", "--train.log-every=1", "--optimiser=sgd",
    ]  # fmt: skip
    assert main([str(word) for word in words]) == 0
    return world


Stamps = dict[Path, tuple[int, ...]]


def stamps_of(root: Path) -> Stamps:
    """Of all files and folders below, what changes when they do."""
    found = {}
    for path in root.rglob("*"):
        status = path.lstat()
        times = (status.st_ino, status.st_size, status.st_mtime_ns)
        found[path.relative_to(root)] = (status.st_mode, *(() if stat.S_ISDIR(status.st_mode) else times))
    return found


class Mended:
    """A copy of a folder, and what makes it as it was: a few files, where a new copy would be megabytes."""

    def __init__(self, original: Path, copy: Path) -> None:
        self.original, self.copy = original, copy
        shutil.copytree(original, copy, symlinks=True)
        self.stamps = stamps_of(copy)

    def mend(self) -> None:
        for name, (mode, *_) in self.stamps.items():
            if stat.S_ISDIR(mode) and (self.copy / name).is_dir():
                (self.copy / name).chmod(stat.S_IMODE(mode))
        for name, stamp in stamps_of(self.copy).items():
            path = self.copy / name
            if stamp != self.stamps.get(name) and os.path.lexists(path):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        for name in sorted(self.stamps):
            path = self.copy / name
            if not os.path.lexists(path):
                if (self.original / name).is_dir():
                    path.mkdir()
                else:
                    shutil.copy2(self.original / name, path, follow_symlinks=False)
        self.stamps = stamps_of(self.copy)


@pytest.fixture(scope="session")
def mended(first_world, tmp_path_factory) -> Mended:
    """The world of all tests, one after the other, beside the one that it is made new from."""
    parent = tmp_path_factory.mktemp("worlds")
    original, copy = World(parent / "original"), World(parent / "world")
    shutil.copytree(first_world.path, original.path, symlinks=True)
    config = original.run / "config.yaml"
    config.write_text(config.read_text().replace(str(first_world.path), str(copy.path)))
    (original.path / "network.py").write_text(NETWORK)
    return Mended(original.path, copy.path)


@pytest.fixture
def world(mended, tmp_path, monkeypatch) -> World:
    """A world of one's own, which is the current folder."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    mended.mend()
    monkeypatch.chdir(mended.copy)
    return World(mended.copy)


@pytest.fixture
def soon(world) -> Iterator[None]:
    """Whatever waits for ever fails after some seconds; whoever waits for a pipe gets an empty file."""

    def end(number: int, frame: object) -> None:
        for path in world.path.rglob("*"):
            if path.is_fifo():
                os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))
        raise AssertionError("it takes too long")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, 20)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def refused(world, capsys) -> Callable[[Plant, str, str], str]:
    """`refused(plant, words, says)`: with the fault planted, the command ends with one line that says so."""

    def refused(plant: Plant, words: str, says: str) -> str:
        plant(world)
        capsys.readouterr()
        code = main(words.split())
        lines = capsys.readouterr().err.splitlines()
        errors = [line for line in lines if line and not line.endswith(" ...")]  # without lines of progress
        assert code in (1, 2), errors
        assert len(errors) == 1, errors
        assert errors[0].startswith("recoseg: ")
        assert says in errors[0]
        return errors[0]

    return refused


@pytest.fixture
def survived(world, capsys) -> Callable[[Plant, str, str], str]:
    """`survived(plant, words, says)`: the command succeeds in spite of the fault, and says this somewhere."""

    def survived(plant: Plant, words: str, says: str) -> str:
        plant(world)
        capsys.readouterr()
        code = main(words.split())
        captured = capsys.readouterr()
        assert code == 0, captured.err
        printed = " ".join((captured.out + captured.err).split())
        assert says in printed
        return printed

    return survived


@pytest.fixture
def told(world, capsys) -> Callable[[Plant, str, str], str]:
    """`told(plant, words, says)`: the command does the rest, says this of the fault, and ends with 1."""

    def told(plant: Plant, words: str, says: str) -> str:
        plant(world)
        capsys.readouterr()
        code = main(words.split())
        captured = capsys.readouterr()
        printed = " ".join((captured.out + captured.err).split())
        assert code in (1, 2), printed
        assert not captured.err.startswith("recoseg: "), captured.err
        assert says in printed
        return printed

    return told
