"""Too much: numbers without end, sizes that no memory holds, memory that runs out.

A new fault is one line: a name, what to do to the world, the command, and what its one line of error says.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image, ImageFile

from recoseg.splits.labelled_pixels import PixelBudget
from recoseg.training.early_end import machine_bytes

pytestmark = pytest.mark.usefixtures("soon")

CONFIG = "train --config c.yaml --out new"
TRAIN = "train --data photos --out new --model.decoder-width=8 --train.iterations=1"
TEACHER = f"{TRAIN} --method mean_teacher --split.labels 1 --contrast reco"
DRAWN = "train --data scenes --out new --model.decoder-width=8"
SPLIT = "split photos --out s.json"
DIGITS = "9" * 5000


def nothing(w):
    """The words alone are the fault."""


def settings(text):
    return lambda w: (w.path / "c.yaml").write_text(text)


def of_run(text):
    return lambda w: (w.run / "config.yaml").write_text(text)


def classes(text):
    return lambda w: (w.photos / "classes.json").write_text(text)


def bomb(form):
    """Eleven lines that stand for 9 ** 11 values: `form` makes of a name the nine times that it is said."""
    lines = [f"a{n}: &a{n} {form(', '.join([f'*a{n - 1}'] * 9), n)}" for n in range(1, 12)]
    return "\n".join(["a0: &a0 {x: 1}", *lines])


LISTS, MERGED = bomb(lambda names, n: f"[{names}]"), bomb(lambda names, n: f"{{<<: [{names}], y{n}: 1}}")

REFUSED = [
    ("lists in lists", settings("train: " + "[" * 5000), CONFIG, "without end"),
    ("settings in settings", settings("{a: " * 5000), CONFIG, "without end"),
    ("lists in lists of a run", of_run("[" * 5000), "evaluate run", "config.yaml: lists or settings inside"),
    ("lists in lists of a profile", settings("[" * 5000), "experiments show scenes --profile c.yaml",
     "without end"),
    ("lists in lists of classes", classes("[" * 5000), "describe photos", "classes.json: cannot be read"),
    ("5,000 digits", settings(f"train:\n  seed: {DIGITS}"), CONFIG, "not valid YAML"),
    ("5,000 digits as a word", nothing, f"{TRAIN} --train.seed={DIGITS}",
     "train.seed: expected a whole number"),
    ("4,000 digits as a word", nothing, f"{TRAIN} --train.seed={DIGITS[:4000]}",
     "must be at most 1e+37"),
    ("5,000 digits in classes", classes('{"names": ["a", "b"], "ignore_index": ' + DIGITS + "}"),
     "describe photos",
     "classes.json: cannot be read"),
    ("5,000 digits of pictures", nothing, f"report run --pictures {DIGITS}", "--pictures: got '99999"),
    ("a digit that is none", nothing, "report run --pictures ²", "--pictures: got '²'"),
    ("5,000 digits of a size", nothing, f"export run --size {DIGITS}x9", "--size: got '99999"),
    ("aliases of aliases", settings(LISTS), CONFIG, "more than 20 aliases"),
    ("aliases that are merged", settings(MERGED), CONFIG, "more than 20 aliases"),
    ("aliases of a run", of_run(LISTS), "evaluate run", "more than 20 aliases"),
    ("a list that holds itself", settings("train: &a [*a]"), CONFIG, "train: expected settings"),
    ("settings that hold themselves", settings("&a {train: *a}"), CONFIG, "train"),
    ("a day that is none", settings("train: {seed: 2026-99-99}"), CONFIG, "not valid YAML: month must be"),
    ("a word that is no day", settings("train: {seed: !!timestamp x}"), CONFIG, "not valid YAML"),
    ("a number that is none", settings("train: {seed: !!int ''}"), CONFIG, "not valid YAML"),
    ("100,000 letters", settings(f"train: {{seed: {'a' * 100_000}}}"), CONFIG, "got 'aaaaaaa"),
    ("a tiny share of pixels", nothing, f"{SPLIT} --pixels 1e-99999999%",
     "pixels: expected 1 or a percentage"),
    ("a tiny share of images", nothing, f"{SPLIT} --fraction 1e-99999999", "fraction: expected a share"),
    ("a huge share of images", nothing, f"{SPLIT} --fraction 1e99999999%", "fraction: expected a share"),
    ("a tiny share of the rest", nothing, f"{SPLIT} --labels 1 --unlabelled 1e-99999999%",
     "unlabelled: expected"),
    ("a share too small to count", nothing, f"{SPLIT} --pixels 1e-50%", "pixels: expected 1 or a percentage"),
    ("a tall scene", nothing, f"{DRAWN} --data.height 1000000000", "data.height: must be at most 8192"),
    ("a trillion scenes", nothing, f"{DRAWN} --data.num_train 1000000000000", "must be at most 1e+06"),
    ("a trillion scenes to validate", nothing, f"{DRAWN} --data.num_val 1000000000000",
     "must be at most 1e+06"),
    ("a wide crop", nothing, f"{TRAIN} --augment.crop 10000000", "augment.crop: must be at most 16384"),
    ("a billion images a step", nothing, f"{TRAIN} --train.labelled_per_step 1000000000",
     "must be at most 65536"),
    ("as many without labels", nothing, f"{TEACHER} --train.unlabelled_per_step 1000000000", "at most 65536"),
    ("a million processes", nothing, f"{TRAIN} --train.workers 1000000",
     "train.workers: must be at most 256"),
    ("a million processes to check", nothing, "check photos --workers 1000000",
     "--workers must be at most 256"),
    ("a million runs at a time", nothing, "experiments run scenes --workers 1000000",
     "--workers must be at most 256"),
    ("a trillion queries", nothing, f"{TEACHER} --contrast.num_queries 1000000000000",
     "must be at most 100000"),
    ("a trillion keys", nothing, f"{TEACHER} --contrast.num_keys 1000000000000", "must be at most 100000"),
    ("a billion channels", nothing, f"{TEACHER} --contrast.feature_channels 1000000000",
     "must be at most 8192"),
    ("a wide decoder", nothing, f"{TRAIN} --model.decoder_width 1000000000", "must be at most 8192"),
    ("a large cache", nothing, f"{TRAIN} --train.cache_gb 1e300", "train.cache_gb: must be at most 1e+06"),
    ("a trillion iterations", nothing, f"{TRAIN} --train.iterations 1000000000000", "must be at most 1e+09"),
    ("a start without end", nothing,
     f"{TEACHER} --train.iterations 1000000000 --method.supervised_start 1000000000", "would look at no"),
    ("images enlarged a million times", nothing, "predict run photos -o out --scales 1e6", "above 0 to 16"),
    ("a hundred looks", nothing, f"evaluate run --scales {'1 ' * 100}",
     "scales: got 100 numbers, needs at most 32"),
    ("an image for export", nothing, "export run --size 1000000x1000000", "up to 16384 each"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "plant", "words", "says"), REFUSED, ids=[row[0] for row in REFUSED])
def test_too_much_is_refused_in_one_short_line_before_anything_is_done(
    name, plant, words, says, refused, world
):
    assert len(refused(plant, words, says)) < 500
    assert not (world.path / "new").exists()


SURVIVED = [
    (
        "a contour as wide as the world",
        "evaluate run --dilation 1e308 --tolerance 1e308 --band 1e308",
        "mean",
    ),
    ("a share of many digits", f"{SPLIT} --pixels 33.333333333333333333%", "partly labelled images"),
    (
        "a window of a trillion pixels",
        "predict run photos -o out --window 1000000000000",
        "7 images labelled",
    ),
    (
        "windows that hardly move",
        "predict run photos/images -o out --window 32 --overlap 0.9999999",
        "4 images",
    ),
]


@pytest.mark.parametrize(("name", "words", "says"), SURVIVED, ids=[row[0] for row in SURVIVED])
def test_what_does_no_harm_is_done(name, words, says, survived):
    survived(nothing, words, says)


def test_crops_of_a_step_that_no_memory_holds_are_refused_before_the_run_begins(refused, monkeypatch):
    monkeypatch.setattr("recoseg.builders.training.machine_bytes", lambda: 10**8)
    says = "10 crops of 800x800 at a time take 0.128 GB, and this machine has 0.1"
    refused(nothing, f"{TRAIN} --augment.crop 800 --train.labelled_per_step 10", says)
    assert machine_bytes() > 10**8


def test_a_share_of_many_digits_is_counted_in_whole_numbers_that_do_not_overflow():
    labels = np.zeros((1000, 1000), dtype=np.uint8)
    for digits in ("33.333333333333333%", "33.333333333333333333333333333333%"):
        shown = PixelBudget.parse(digits).visible(labels, [(0, 500, 500)]) == 0
        assert shown.mean() == pytest.approx(1 / 3, abs=0.01)


SHORT = {
    "Python": MemoryError(),
    "PyTorch": RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory"),
    "a GPU": torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB."),
    "the system": OSError(12, "Cannot allocate memory"),
}

SHORTAGES = [
    ("PyTorch", TRAIN, "recoseg.runs.start.build_starting_model", "--augment.crop"),
    ("Python", "status run", "recoseg.runs.run_folder.read_records", "close other programs"),
    ("a GPU", "report run", "recoseg.runs.pages.take_pictures", "--pictures 1"),
    ("a GPU", "evaluate run", "recoseg.runs.run.evaluate", "--window 512"),
    ("the system", "evaluate run", "recoseg.models.weights.load_file", "--window 512"),
    ("PyTorch", "predict run photos -o out", "recoseg.predict.predictor.Predictor.predict", "--window 512"),
    ("a GPU", "picture predictions run --out a.png", "recoseg.evaluate.protocol.Protocol.labels", "fewer"),
    ("PyTorch", "export run --format torch", "torch.export.export", "--size 256x256"),
    ("Python", "check photos", "recoseg.data.dataset_check.count_subset", "--workers 1"),
    ("Python", "prepare folder photos s", "recoseg.data.preparation.encode", "--workers 1"),
    ("Python", "export-labels photos a.json", "recoseg.label_formats.exporting.pack_counts", "close other"),
    ("Python", f"{SPLIT} --labels 1", "recoseg.data.label_codes.ByValue.decode_pixels", "--workers 1"),
    ("the system", "describe photos", "recoseg.data.label_codes.ByValue.decode_pixels", "--workers 1"),
]  # fmt: skip


@pytest.mark.parametrize(("whose", "words", "place", "says"), SHORTAGES)
def test_out_of_memory_is_one_line_that_says_what_helps(whose, words, place, says, refused, monkeypatch):
    def fail(*values, **settings):
        raise SHORT[whose]

    monkeypatch.setattr(place, fail)
    assert "recoseg: out of memory; " in refused(nothing, words, says)


@pytest.mark.parametrize(
    "words", ["check photos", "predict run photos/images -o out", "prepare folder photos s"]
)
@pytest.mark.parametrize(
    "error", [MemoryError(), OSError("out of memory error when reading image file")], ids=repr
)
def test_an_image_that_memory_does_not_hold_is_not_called_damaged(words, error, told, monkeypatch):
    load = ImageFile.ImageFile.load

    def fail(image):
        if str(image.filename).endswith("images/p3.png"):
            raise error
        return load(image)

    monkeypatch.setattr(ImageFile.ImageFile, "load", fail)
    printed = told(nothing, words, "p3.png")
    assert "too large for the memory that is free" in printed
    assert "copy" not in printed


def png(width, height):
    """The start of a black image of one bit a pixel."""

    def chunk(name, content):
        return (
            struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        )

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("size", "says"),
    [
        ((40_000, 37_500), "too many"),
        ((31_623, 31_623), "too many"),
        ((50_000, 20_000), "damaged or cut short"),
    ],
    ids=["1.5 gigapixels", "a gigapixel and a bit", "a gigapixel"],
)
def test_the_limit_of_a_gigapixel_is_a_gigapixel(size, says, told, monkeypatch, world):
    load = ImageFile.ImageFile.load

    def fail(image):  # in place of filling the memory
        if image.width > 10_000:
            raise OSError("image file is truncated")
        return load(image)

    monkeypatch.setattr(ImageFile.ImageFile, "load", fail)
    (world.path / "a.png").write_bytes(png(*size))
    told(nothing, "predict run a.png photos/images -o out", f"left out: a.png: {says}")


WITH_LITTLE_MEMORY = """
import resource, sys
from recoseg.cli import predict
from recoseg.cli.main import main

predict.SECONDS_BETWEEN_LINES = float("inf")  # lines of progress depend on the time that things take

main("predict run photos/images -o warm".split())  # all that is needed is imported, and was used once
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + 150_000_000
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for words in ("predict run wide.png photos/images -o a", "predict run photos/images/p0.png -o b --scales 16"):
    print(main([*words.split(), "--no-overlay"]), file=sys.stderr)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="asks Linux how much memory there is")
def test_a_machine_with_little_memory_is_told_so(world):
    """In a process of its own, which really gets no more: neither for a large file, nor for the network."""
    Image.fromarray(np.zeros((9000, 9000), dtype=bool)).save(world.path / "wide.png")
    Image.fromarray(np.zeros((400, 400), dtype=np.uint8)).save(world.photos / "images" / "p0.png")
    words = [sys.executable, "-c", WITH_LITTLE_MEMORY]
    environment = {**os.environ, "MALLOC_ARENA_MAX": "1", "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(words, capture_output=True, text=True, check=False, env=environment, timeout=600)
    assert ended.stderr.count("\n") == 4, ended.stderr
    left_out, code, shortage, other_code = ended.stderr.splitlines()
    assert left_out.startswith("left out: wide.png: too large for the memory that is free; close")
    assert shortage.startswith("recoseg: out of memory; large images need less in parts: --window 512")
    assert (code, other_code) == ("1", "1")
    assert len(list((world.path / "a" / "labels").rglob("*.png"))) == 4
