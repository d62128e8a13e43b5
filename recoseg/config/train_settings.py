"""Settings of augmentation, optimiser and loop: `augment`, `optimiser`, `train`."""

from __future__ import annotations

from dataclasses import dataclass

from recoseg.config.setting import setting


@dataclass(frozen=True, kw_only=True)
class AugmentSettings:
    """How training crops are cut and altered."""

    crop: tuple[int, int] = setting(
        (321, 321), "height x width of a training crop; smaller images are padded", at_least=16
    )
    scale: tuple[float, float] = setting(
        (0.5, 1.5), "range of the random scale; 1,1 for none", above=0, at_most=16
    )
    flip: float = setting(0.5, "probability of a horizontal flip", at_least=0, at_most=1)
    jitter: float = setting(0.8, "probability of colour jitter", at_least=0, at_most=1)
    blur: float = setting(0.5, "probability of Gaussian blur", at_least=0, at_most=1)


@dataclass(frozen=True, kw_only=True)
class OptimiserSettings:
    """SGD with the learning rate annealed at every iteration."""

    lr: float = setting(2.5e-3, "learning rate at the start", above=0)
    momentum: float = setting(0.9, "momentum", at_least=0, at_most=1)
    nesterov: bool = setting(True, "Nesterov's form of momentum")
    weight_decay: float = setting(5e-4, "weight decay", at_least=0)
    power: float = setting(0.9, "the rate at iteration t is lr * (1 - t / iterations) ** power", at_least=0)


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """The training loop."""

    iterations: int = setting(40_000, "number of optimiser steps", at_least=1)
    labelled_per_step: int = setting(10, "labelled images in a step", at_least=1)
    seed: int = setting(0, "seed of weights, order and augmentation", at_least=0)
    evaluate_every: int = setting(1_000, "iterations between evaluations (and saved states)", at_least=1)
    log_every: int = setting(10, "iterations between logged losses", at_least=1)
    device: str = setting("auto", "cpu, cuda, cuda:1, mps; auto takes a GPU where there is one")
    workers: int = setting(0, "processes that load images; 0 loads in the main one", at_least=0)
    cache_gb: float = setting(2.0, "memory for decoded images, in GB", at_least=0)
