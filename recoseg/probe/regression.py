"""Weighted multinomial logistic regression by L-BFGS."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

STRENGTHS = (0.3, 0.1, 0.03, 0.01)
"""L2 penalties to choose from, the strongest first: each fit starts from the one before it."""

_ITERATIONS = 15
"""Of L-BFGS for each strength. More of them fit the labelled images closer and others no better."""


@dataclass(frozen=True)
class Classifier:
    """A linear classifier of features (x - mean) / deviation."""

    weight: Tensor  # (K, C)
    bias: Tensor  # (K,)
    mean: Tensor  # (C,)
    deviation: Tensor  # (C,)

    def logits(self, features: Tensor) -> Tensor:
        """(C, N) -> (K, N)"""
        weight = self.weight / self.deviation
        return weight @ features + (self.bias - weight @ self.mean)[:, None]


def fit_classifier(
    features: Tensor,
    labels: Tensor,
    num_classes: int,
    *,
    strength: float,
    class_weights: Tensor | None = None,
    offsets: Tensor | None = None,
    spread: tuple[Tensor, Tensor] | None = None,
) -> Classifier:
    """The classifier of (C, N) features by (N,) labels with the L2 penalty `strength`."""
    *_, last = fit_path(
        features,
        labels,
        num_classes,
        until=strength,
        class_weights=class_weights,
        offsets=offsets,
        spread=spread,
    )
    return last


def fit_path(
    features: Tensor,
    labels: Tensor,
    num_classes: int,
    *,
    until: float = STRENGTHS[-1],
    class_weights: Tensor | None = None,
    offsets: Tensor | None = None,
    spread: tuple[Tensor, Tensor] | None = None,
) -> list[Classifier]:
    """Classifiers of falling L2 penalty down to `until`, each fitted from the one before it.

    Minimises the mean cross-entropy, each cell weighted by the weight of its class, plus the penalty times
    the sum of squared weights of standardised features. A class without a cell keeps weights of zero and
    a bias that makes it unlikely. `offsets` (N, K) are added to the logits: the classifier then corrects
    what they predict, and a class without a cell keeps a bias of zero. `spread` is the mean and the deviation
    (C,) to standardise by, where those of a few cells would mean little.
    """
    mean, deviation = spread or (features.mean(1), features.std(1, correction=0).clamp(min=1e-6))
    standardised = (features - mean[:, None]) / deviation[:, None]
    counts = torch.bincount(labels, minlength=num_classes).to(features)
    weights = None if class_weights is None else class_weights.to(features)
    shares = counts if weights is None else counts * weights
    weight = features.new_zeros(num_classes, len(features)).requires_grad_()
    bias = (shares / shares.sum()).clamp(min=1e-6).log() if offsets is None else torch.zeros_like(shares)
    bias.requires_grad_()
    path = []
    for strength in STRENGTHS:
        if strength < until:
            break
        solver = torch.optim.LBFGS([weight, bias], max_iter=_ITERATIONS, line_search_fn="strong_wolfe")

        def loss(solver: torch.optim.LBFGS = solver, strength: float = strength) -> Tensor:
            solver.zero_grad()
            logits = weight @ standardised + bias[:, None]  # (K, N)
            if offsets is not None:
                logits = logits + offsets.T
            value = F.cross_entropy(logits.T, labels, weight=weights) + strength * weight.square().sum()
            value.backward()  # type: ignore[no-untyped-call]
            return value

        with torch.enable_grad():
            solver.step(loss)  # type: ignore[no-untyped-call]
        path.append(Classifier(weight.detach().clone(), bias.detach().clone(), mean, deviation))
    return path
