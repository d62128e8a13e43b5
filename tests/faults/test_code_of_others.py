"""Files of others, which must not run code, steer a terminal, or be trusted more than they deserve.

A new fault is one line of a table.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import recoseg as package
from recoseg import batches as loaders
from recoseg.cli.main import main
from recoseg.data.image_files import FORMATS, read_image, read_label_pixels
from recoseg.data.problem import FileError
from recoseg.data.worker_processes import in_processes
from recoseg.errors import UserError
from recoseg.experiments.running import workers as local
from recoseg.models import pretrained

MARK = "from pathlib import Path\nPath({!r}).write_text('I ran')\nraise SystemExit(3)\n"


@pytest.fixture
def mark(tmp_path) -> Path:
    """What code that must not run leaves behind."""
    return tmp_path / "it_ran"


@pytest.fixture
def lay_out(world, mark):
    """Puts modules of these names into the current folder, which leave the mark when they are imported."""

    def lay_out(*names):
        for name in names:
            (world.path / f"{name}.py").write_text(MARK.format(str(mark)))

    return lay_out


def name_factory(world, factory="evil:network"):
    """As somebody else's config.yaml might."""
    config = yaml.safe_load((world.run / "config.yaml").read_text())
    config["model"] = {"name": "factory", "factory": factory}
    (world.run / "config.yaml").write_text(yaml.safe_dump(config))


COMMANDS = [
    "predict run photos/images -o out",
    "evaluate run",
    "report run",
    "export run",
    "picture predictions run",
    "picture queries run",
    "picture relations run",
]


@pytest.mark.parametrize("words", COMMANDS)
def test_a_factory_needs_trust(words, refused, lay_out, mark):
    lay_out("evil")
    line = refused(name_factory, words, "model.factory 'evil:network' runs Python code")
    assert "run/config.yaml" in line
    assert "--trust" in line
    assert not mark.exists()


def test_a_factory_needs_trust_in_python_too(world, lay_out, mark):
    lay_out("evil")
    name_factory(world)
    with pytest.raises(UserError, match=r"trust=True"):
        package.load("run")
    assert not mark.exists()


def test_a_grid_of_such_runs_needs_trust_before_it_begins(world, refused, capsys):
    def plant(world):
        (world.path / "mine.yaml").write_text("configs: {scenes: scenes.yaml}\n")
        (world.path / "scenes.yaml").write_text("data: scenes\nmodel: {factory: 'network:small'}\n")

    refused(plant, "experiments run scenes --profile mine.yaml --seeds 0", "--trust")
    assert not (world.path / "runs").exists()
    words = ["experiments", "show", "scenes", "--profile", "mine.yaml", "--seeds", "0", "--commands"]
    assert main([*words, "--trust"]) == 0
    scoring = [line for line in capsys.readouterr().out.splitlines() if line.startswith("recoseg evaluate")]
    assert scoring
    assert all(line.endswith("--trust") for line in scoring)


def test_whoever_trains_with_a_factory_is_not_asked_and_trusts_it_later(world, capsys):
    words = (
        "train --data photos --out own --model.factory network:small --augment.crop=32 "
        "--train.iterations=1 --train.labelled-per-step=1"
    )
    assert main(words.split()) == 0
    assert (world.path / "own" / "report" / "index.html").is_file()
    assert main(["train", "--resume", "own"]) == 0
    for words in ("predict own photos/images -o out", "evaluate own", "report own", "picture queries own"):
        assert main([*words.split(), "--trust"]) == 0, capsys.readouterr().err
    assert package.load("own", trust=True)("photos/images/p0.png").labels.shape == (32, 40)


EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n%%EOF\n"


def test_a_postscript_file_starts_no_program_whatever_it_is_called(world, mark, monkeypatch):
    program = world.path / "bin" / "gs"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setattr("PIL.EpsImagePlugin.gs_binary", None)  # it remembers what it found
    (world.path / "x.png").write_bytes(EPS)
    with pytest.raises(FileError, match=r"x\.png: not an image that can be read \(these can: JPEG, PNG"):
        read_image(world.path / "x.png")
    with Image.open("x.png") as image, pytest.raises(OSError):  # what it would have done
        image.load()
    assert mark.exists()


OTHER_FORMATS = ["BLP", "DDS", "ICO", "PCX", "QOI", "SGI", "TGA", "MSP", "SPIDER", "XBM", "ICNS"]


@pytest.mark.parametrize("kind", OTHER_FORMATS)
def test_a_file_of_another_format_is_not_decoded(tmp_path, kind):
    image = Image.new({"BLP": "P", "MSP": "1", "SPIDER": "F", "XBM": "1"}.get(kind, "RGB"), (16, 16))
    file = io.BytesIO()
    image.save(file, kind)
    (tmp_path / "x.png").write_bytes(file.getvalue())
    with pytest.raises(FileError, match="not an image that can be read"):
        read_image(tmp_path / "x.png")


def small_files(kind: str) -> list[bytes]:
    """The same noise in what modes the format has."""
    noise = np.random.default_rng(0).integers(0, 255, (12, 10, 3)).astype(np.uint8)
    exif = Image.Exif()
    exif[0x0112], exif[0x8769] = 6, {0x829A: (1, 3)}
    files = []
    for mode in ("RGB", "L", "P", "RGBA", "1"):
        file = io.BytesIO()
        try:
            Image.fromarray(noise).convert(mode).save(file, kind, exif=exif.tobytes())
            files.append(file.getvalue())
        except OSError:  # a mode that the format has not
            continue
    return files


def mutated(content: bytes, dice: random.Random) -> bytes:
    """With bytes changed, put in, taken out, or the end cut off."""
    data = bytearray(content)
    for _ in range(dice.choice((1, 2, 4, 16))):
        place = dice.randrange(len(data))
        change = dice.random()
        if change < 0.7:
            data[place] = dice.choice((0, 1, 127, 128, 255, dice.randrange(256)))
        elif change < 0.8:
            data[place:place] = dice.randbytes(dice.randrange(1, 9))
        elif change < 0.9:
            del data[place : place + dice.randrange(1, 9 if len(data) > 32 else 2)]
        else:
            del data[max(place, 16) :]
    return bytes(data)


@pytest.mark.filterwarnings("ignore")  # Pillow has much to say about garbled data
@pytest.mark.parametrize("kind", FORMATS)
def test_damaged_files_of_every_format_raise_our_error_and_no_other(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10_000)  # a damaged header may ask for a gigabyte
    dice, files, path = random.Random(kind), small_files(kind), tmp_path / "x"
    outcomes = []
    for number in range(300):
        path.write_bytes(mutated(dice.choice(files), dice))
        try:
            (read_image if number % 2 else read_label_pixels)(path)
            outcomes.append("read")
        except UserError:
            outcomes.append("refused")
    assert {"read", "refused"} <= set(outcomes)


SHADOWS = ["yaml", "pickle", "struct", "random", "socket", "numpy", "torch", "recoseg", "multiprocessing"]
"""Modules that our processes import, and that may lie where the user happens to be."""


def test_worker_processes_import_nothing_from_the_current_folder(lay_out, mark):
    lay_out(*SHADOWS)
    assert list(in_processes(len, ["a", "bc"], num_workers=2, few=1)) == [1, 2]
    assert not mark.exists()
    assert "PYTHONSAFEPATH" not in os.environ


def test_loading_processes_are_started_in_the_same_way(monkeypatch):
    seen = []

    class Loader:
        def __init__(self, *_, **settings):
            pass

        def __iter__(self):
            seen.append(os.environ.get("PYTHONSAFEPATH"))
            return iter(())

    monkeypatch.setattr(loaders, "DataLoader", Loader)
    pieces = object.__new__(loaders.StepBatches)
    object.__setattr__(pieces, "parts", 1)
    assert list(pieces.from_iteration(0, 1, workers=1)) == []
    assert seen == ["1"]


def test_commands_of_a_grid_import_nothing_from_the_current_folder(world, lay_out, mark, monkeypatch):
    lay_out(*SHADOWS)
    started = []
    original = subprocess.Popen

    def noted(command, **settings):
        started.append(command)
        return original([*command[:3], "--version"], **settings)

    monkeypatch.setattr(local.subprocess, "Popen", noted)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    workers = local.LocalWorkers(1)
    assert workers.start(["train"], world.path / "log", 0) == 0
    workers.close()
    assert started[0][:2] == [sys.executable, "-P"]
    assert (world.path / "log").read_text().startswith("recoseg ")
    assert not mark.exists()


DOWNLOADS = [
    ("whole", lambda content: content, None),
    ("cut short", lambda content: content[:-1], "did not arrive as published"),
    ("changed", lambda content: b"x" + content[1:], "did not arrive as published"),
    ("empty", lambda content: b"", "did not arrive as published"),
    ("too large", lambda content: content * 200, "has more than 0 MB, which no published weights have"),
]


@pytest.mark.parametrize(("name", "change", "says"), DOWNLOADS, ids=[row[0] for row in DOWNLOADS])
def test_a_download_is_whole_or_nothing(tmp_path, monkeypatch, name, change, says):
    content, target = b"weights" * 100, tmp_path / "cache" / "net.pth"
    (tmp_path / "served").write_bytes(change(content))
    source = pretrained.Published((tmp_path / "served").as_uri(), hashlib.sha256(content).hexdigest())
    monkeypatch.setattr(pretrained, "MOST_BYTES", 100_000)
    if says is None:
        pretrained.download(source, target)
        assert target.read_bytes() == content
        return
    with pytest.raises(UserError, match=says):
        pretrained.download(source, target)
    assert list(target.parent.iterdir()) == []


RIGHTS = [(0o022, 0o644), (0o002, 0o664), (0o077, 0o600)]


@pytest.mark.parametrize(("umask", "mode"), RIGHTS, ids=[oct(umask) for umask, _ in RIGHTS])
def test_files_follow_the_umask(world, umask, mode):
    before = os.umask(umask)
    try:
        assert main(["predict", "run", "photos/images/p0.png", "-o", "out"]) == 0
        assert main(["evaluate", "run"]) == 0
    finally:
        os.umask(before)
    written = [*(world.path / "out").rglob("*.*"), *(world.run / "evaluation").iterdir()]
    assert len(written) >= 5
    assert {stat.S_IMODE(path.stat().st_mode) for path in written} == {mode}


RED = "\x1b[31mred\x07"


def name_classes(world, name=RED):
    """In the class file and in the weights."""
    names = [name, "other"]
    (world.photos / "classes.json").write_text(json.dumps({"names": names}))
    path = world.run / "weights.safetensors"
    with safe_open(path, framework="pt") as content:
        about = json.loads(content.metadata()["recoseg"])
    save_file(load_file(path), path, metadata={"recoseg": json.dumps({**about, "classes": names})})


def name_file(world):
    """A damaged image, and a run, of such names."""
    (world.photos / "images" / f"{RED}.png").write_bytes(b"no image")
    world.run.rename(world.path / f"run{RED}")


TERMINAL = [
    ("check, classes", name_classes, "check photos", 1),
    ("split, classes", name_classes, "split photos --labels 1 --out a.json", 1),
    ("describe, classes", name_classes, "describe photos", 1),
    ("evaluate, classes", name_classes, "evaluate run", 1),
    ("picture, classes", name_classes, "picture relations run", 1),
    ("an error, classes", lambda w: name_classes(w, RED * 2), "evaluate run --data elsewhere", 1),
    ("check, files", name_file, "check photos", 1),
    ("status, files", name_file, "status .", 0),
    ("predict, files", lambda w: (w.path / f"{RED}.png").write_bytes(b"x"), "predict run *.png -o out", 1),
    ("an error, files", lambda w: (w.path / f"{RED}.yaml").write_text("a: ["), "train --config {}.yaml", 1),
]


@pytest.mark.parametrize(("name", "plant", "words", "code"), TERMINAL, ids=[row[0] for row in TERMINAL])
def test_control_characters_are_shown_and_not_sent(world, capsys, name, plant, words, code):
    (world.path / "elsewhere" / "images").mkdir(parents=True)
    (world.path / "elsewhere" / "labels").mkdir()
    for kind in ("images", "labels"):
        (world.path / "elsewhere" / kind / "a.png").write_bytes((world.photos / kind / "p0.png").read_bytes())
        (world.path / "elsewhere" / kind / "b.png").write_bytes((world.photos / kind / "p1.png").read_bytes())
    plant(world)
    capsys.readouterr()
    assert main([word.format(RED) for word in words.split()]) == code
    captured = capsys.readouterr()
    printed = captured.out + captured.err
    assert r"\x1b[31mred\x07" in printed
    assert not any(ord(one) < 32 and one != "\n" for one in printed)
