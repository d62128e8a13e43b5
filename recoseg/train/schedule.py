"""The learning rate over a run."""

from __future__ import annotations

from torch.optim import Optimizer


def poly(iteration: int, iterations: int, power: float) -> float:
    """The factor of the learning rate at `iteration`, counted from 0: (1 - t / T) ** power."""
    return float((1 - iteration / iterations) ** power)


def set_learning_rate(optimiser: Optimizer, factor: float) -> float:
    """Each group's rate becomes `factor` times its first one; returns the first group's."""
    for group in optimiser.param_groups:
        group["lr"] = group.setdefault("initial_lr", group["lr"]) * factor
    rate: float = optimiser.param_groups[0]["lr"]
    return rate
