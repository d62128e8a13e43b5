"""Settings of augmentation, optimiser and loop: `augment`, `optimiser`, `train`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from recoseg.config.setting import MOST_ITERATIONS, setting

MOST_IMAGES = 65_536  # in a step
MOST_WORKERS = 256


@dataclass(frozen=True, kw_only=True)
class AugmentSettings:
    """How training crops are cut and altered."""

    crop: tuple[int, int] = setting(
        (321, 321),
        "height x width of a training crop; smaller images are padded",
        at_least=16,
        at_most=16_384,
    )
    scale: tuple[float, float] = setting(
        (0.5, 1.5), "range of the random scale; 1,1 for none", at_least=0.01, at_most=16
    )
    same_scale: bool = setting(
        False,
        "teacher and student see an unlabelled crop at the same random scale; false, as in the paper: the "
        "teacher sees it unscaled",
    )
    flip: float = setting(0.5, "probability of a horizontal flip", at_least=0, at_most=1)
    flip_vertical: float = setting(
        0.0, "probability of a vertical flip, for images without an up", at_least=0, at_most=1
    )
    rotate: float = setting(
        0.0, "probability of one to three quarter turns, for images without an up", at_least=0, at_most=1
    )
    jitter: float = setting(0.8, "probability of colour jitter", at_least=0, at_most=1)
    jitter_strength: float = setting(
        1.0, "strength of colour jitter, as a multiple of the paper's", at_least=0, at_most=2
    )
    blur: float = setting(0.5, "probability of Gaussian blur", at_least=0, at_most=1)
    rare: float = setting(
        0.0, "share of labelled crops that are placed to show a rare class", at_least=0, at_most=1
    )


HEAD_LR_FACTOR = "the rate of all but the encoder, as a multiple of lr; 10 is usual for fine-tuning"
SCHEDULE = (
    "how the rate falls: poly, lr * (1 - t / iterations) ** power at iteration t; or cosine, half a wave"
)
POWER = "the power of schedule poly"


WARM_UP = "iterations over which every learning rate rises from 0 to its value"


@dataclass(frozen=True, kw_only=True)
class SGDOptimiser:
    """SGD with the learning rate annealed at every iteration: the paper's."""

    name: Literal["sgd"] = "sgd"
    lr: float = setting(2.5e-3, "learning rate at the start", above=0)
    momentum: float = setting(0.9, "momentum", at_least=0, at_most=1)
    nesterov: bool = setting(True, "Nesterov's form of momentum")
    weight_decay: float = setting(5e-4, "weight decay", at_least=0)
    head_lr_factor: float = setting(1.0, HEAD_LR_FACTOR, above=0)
    decay_norms_and_biases: bool = setting(True, "weight decay for norms and biases too")
    warm_up: int = setting(0, WARM_UP, at_least=0, at_most=MOST_ITERATIONS)
    schedule: Literal["poly", "cosine"] = setting("poly", SCHEDULE)
    power: float = setting(0.9, POWER, at_least=0)


@dataclass(frozen=True, kw_only=True)
class AdamWOptimiser:
    """AdamW, annealed alike: learns faster in short runs, and is usual for transformers."""

    name: Literal["adamw"] = "adamw"
    lr: float = setting(2e-4, "learning rate at the start", above=0)
    weight_decay: float = setting(0.01, "weight decay", at_least=0)
    head_lr_factor: float = setting(1.0, HEAD_LR_FACTOR, above=0)
    decay_norms_and_biases: bool = setting(True, "weight decay for norms and biases too")
    warm_up: int = setting(0, WARM_UP, at_least=0, at_most=MOST_ITERATIONS)
    schedule: Literal["poly", "cosine"] = setting("poly", SCHEDULE)
    power: float = setting(0.9, POWER, at_least=0)


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """The training loop."""

    iterations: int = setting(
        40_000, "number of optimiser steps; method probe has none", at_least=0, at_most=MOST_ITERATIONS
    )
    labelled_per_step: int = setting(
        10, "labelled images in a step, of all processes together", at_least=1, at_most=MOST_IMAGES
    )
    unlabelled_per_step: int | None = setting(
        None,
        "unlabelled images in a step; if none, as many as labelled ones",
        at_least=1,
        at_most=MOST_IMAGES,
    )
    accumulate: int = setting(
        1,
        "parts that a step is done in, one after the other, to save memory",
        at_least=1,
        at_most=MOST_IMAGES,
    )
    class_weights: Literal["none", "root"] = setting(
        "none",
        "how much pixels count in the supervised loss: none, all alike; root, by one over the root of how "
        "frequent their class is in the labelled images",
    )
    ohem_below: float | None = setting(
        None,
        "the supervised loss is that of hard pixels alone (OHEM): those whose class has at most this "
        "probability, and at least the hardest sixth; none: of all pixels",
        above=0,
        at_most=1,
    )
    clip: float | None = setting(None, "the largest norm of the gradient; none leaves it as it is", above=0)
    precision: Literal["auto", "float32", "bfloat16", "float16"] = setting(
        "auto", "float32, bfloat16, float16; auto is bfloat16 or float16 on a GPU, float32 on a CPU"
    )
    channels_last: bool = setting(False, "keep images and weights with channels last")
    seed: int = setting(0, "seed of weights, order and augmentation", at_least=0)
    evaluate_every: int = setting(1_000, "iterations between evaluations (and saved states)", at_least=1)
    best_on: Literal["none", "labelled", "val"] = setting(
        "none",
        "keep the best weights besides the last: chosen on labelled images held back from training, or on "
        "the validation images, whose score is then no longer an honest one",
    )
    best_share: float = setting(
        0.2, "share of the labelled images held back for best_on labelled", above=0, at_most=0.9
    )
    log_every: int = setting(10, "iterations between logged losses", at_least=1)
    device: str = setting("auto", "cpu, cuda, cuda:1; auto takes a GPU where there is one")
    workers: int | None = setting(
        None,
        "processes that load images; 0 loads in the main one; none: 0 where all images fit into cache_gb",
        at_least=0,
        at_most=MOST_WORKERS,
    )
    cache_gb: float = setting(2.0, "memory for decoded images, in GB", at_least=0, at_most=1_000_000)
