"""Settings of augmentation, optimiser and loop: `augment`, `optimiser`, `train`."""

from typing import Annotated, Literal

from msgspec import Meta

from recoseg.config.setting import (
    Iterations,
    Kind,
    NonNegative,
    Number,
    Positive,
    Section,
    Seed,
    Share,
)

MOST_WORKERS = 256

Images = Annotated[int, Meta(ge=1, le=65_536)]
CropSide = Annotated[int, Meta(ge=16, le=16_384)]
Scale = Annotated[float, Meta(ge=0.01, le=16)]


class AugmentSettings(Section, frozen=True, kw_only=True):
    """How training crops are cut and altered."""

    #: height x width of a training crop; smaller images are padded
    crop: tuple[CropSide, CropSide] = (321, 321)
    #: range of the random scale; 1,1 for none
    scale: tuple[Scale, Scale] = (0.5, 1.5)
    #: whether teacher and student see an unlabelled crop at the same random scale; false, as in the
    #: paper: the teacher sees it unscaled
    same_scale: bool = False
    #: probability of a horizontal flip
    flip: Share = 0.5
    #: probability of a vertical flip, for images without an up
    flip_vertical: Share = 0.0
    #: probability of one to three quarter turns, for images without an up
    rotate: Share = 0.0
    #: probability of colour jitter
    jitter: Share = 0.8
    #: strength of colour jitter, as a multiple of the paper's
    jitter_strength: Annotated[float, Meta(ge=0, le=2)] = 1.0
    #: probability of Gaussian blur
    blur: Share = 0.5
    #: share of labelled crops that are placed to show a rare class
    rare: Share = 0.0


class Optimiser(Kind, frozen=True, kw_only=True):
    """What all optimisers have."""

    #: learning rate at the start
    lr: Positive = 2.5e-3
    #: weight decay
    weight_decay: NonNegative = 5e-4
    #: learning rate of all but the encoder, as a multiple of lr; often 10 for fine-tuning
    head_lr_factor: Positive = 1.0
    #: weight decay for norms and biases too
    decay_norms_and_biases: bool = True
    #: iterations over which every learning rate rises to its value
    warm_up: Iterations = 0
    #: how the rate falls: poly, lr * (1 - t / iterations) ** power at iteration t; or cosine
    schedule: Literal["poly", "cosine"] = "poly"
    #: the power of schedule poly
    power: NonNegative = 0.9


class SGDOptimiser(Optimiser, frozen=True, kw_only=True, tag="sgd"):
    """SGD with the learning rate annealed at every iteration: the paper's."""

    #: momentum
    momentum: Share = 0.9
    #: Nesterov's form of momentum
    nesterov: bool = True


class AdamWOptimiser(Optimiser, frozen=True, kw_only=True, tag="adamw"):
    """AdamW, annealed too: learns faster in short runs, and is usual for transformers."""

    #: learning rate at the start
    lr: Positive = 2e-4
    #: weight decay
    weight_decay: NonNegative = 0.01


class TrainSettings(Section, frozen=True, kw_only=True):
    """The training loop."""

    #: number of optimiser steps; method probe has none
    iterations: Iterations = 40_000
    #: labelled images in a step, of all processes together
    labelled_per_step: Images = 10
    #: unlabelled images in a step; none: as many as labelled ones
    unlabelled_per_step: Images | None = None
    #: gradient accumulation: parts that a step is done in, to save memory
    accumulate: Images = 1
    #: weight of pixels in the supervised loss: none, equal; root, one over the root of how frequent
    #: their class is in the labelled images
    class_weights: Literal["none", "root"] = "none"
    #: supervised loss of hard pixels alone (OHEM): those whose class has at most this probability, and
    #: at least the hardest sixth; none: of all pixels
    ohem_below: Annotated[float, Meta(gt=0, le=1)] | None = None
    #: gradient clipping: maximum norm; none disables it
    clip: Positive | None = None
    #: float32, bfloat16, float16; auto is bfloat16 or float16 on a GPU, float32 on a CPU
    precision: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    #: keep images and weights with channels last
    channels_last: bool = False
    #: seed of weights, order and augmentation
    seed: Seed = 0
    #: iterations between evaluations (and saved states)
    evaluate_every: Number = 1_000
    #: keep the best weights in addition to the last: chosen on labelled images held back from
    #: training, or on the validation images, whose score is then no longer unbiased
    best_on: Literal["none", "labelled", "val"] = "none"
    #: share of the labelled images held back for best_on labelled
    best_share: Annotated[float, Meta(gt=0, le=0.9)] = 0.2
    #: iterations between logged losses
    log_every: Number = 10
    #: cpu, cuda, cuda:1; auto takes a GPU where there is one
    device: str = "auto"
    #: processes that load images; 0: the main one; none: 0 where all images fit into cache_gb
    workers: Annotated[int, Meta(ge=0, le=MOST_WORKERS)] | None = None
    #: memory for decoded images, in GB
    cache_gb: Annotated[float, Meta(ge=0, le=1000000)] = 2.0
