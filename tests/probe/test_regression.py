"""Logistic regression against a closed form, an independent solver, and what its weights and penalty mean."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from recoseg.probe import fit_classifier
from recoseg.probe.regression import STRENGTHS, fit_path


def blobs(
    num: int = 300, classes: int = 3, channels: int = 5, *, seed: int = 0
) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    centres = 2 * torch.randn(classes, channels, generator=generator)
    labels = torch.randint(classes, (num,), generator=generator)
    return (centres[labels] + torch.randn(num, channels, generator=generator)).T.contiguous(), labels


def test_without_information_the_classifier_gives_the_shares_of_the_classes() -> None:
    features, labels = torch.zeros(4, 8), torch.tensor([0, 0, 0, 0, 0, 0, 1, 1])
    found = fit_classifier(features, labels, 2, strength=0.1)
    assert found.logits(features).softmax(0)[:, 0].tolist() == pytest.approx([0.75, 0.25], abs=1e-3)


def test_class_weights_count_like_repeated_cells() -> None:
    features, labels = torch.zeros(4, 4), torch.tensor([0, 0, 0, 1])
    found = fit_classifier(features, labels, 2, strength=0.1, class_weights=torch.tensor([1.0, 3.0]))
    assert found.logits(features).softmax(0)[:, 0].tolist() == pytest.approx([0.5, 0.5], abs=1e-3)


@pytest.mark.parametrize("strength", STRENGTHS)
def test_the_loss_is_as_low_as_an_independent_solver_finds_it(strength) -> None:
    features, labels = blobs()
    weights = torch.tensor([1.0, 2.0, 0.5])
    mean, deviation = features.mean(1, keepdim=True), features.std(1, correction=0, keepdim=True)
    x, y, w = ((features - mean) / deviation).double().numpy(), labels.numpy(), weights.double().numpy()

    def loss(flat: np.ndarray) -> float:
        weight, bias = flat[:15].reshape(3, 5), flat[15:]
        logits = weight @ x + bias[:, None]
        logits -= logits.max(0)
        errors = np.log(np.exp(logits).sum(0)) - logits[y, np.arange(len(y))]
        return float((w[y] * errors).sum() / w[y].sum() + strength * (weight**2).sum())

    best = minimize(loss, np.zeros(18), method="BFGS").fun
    found = fit_classifier(features, labels, 3, strength=strength, class_weights=weights)
    flat = np.concatenate([found.weight.double().numpy().ravel(), found.bias.double().numpy()])
    assert loss(flat) == pytest.approx(best, rel=1e-3)


def test_a_stronger_penalty_gives_smaller_weights() -> None:
    features, labels = blobs()
    sizes = [float(one.weight.square().sum()) for one in fit_path(features, labels, 3)]
    assert sizes == sorted(sizes)


def test_a_class_without_a_cell_is_unlikely_everywhere() -> None:
    features, labels = blobs(classes=2)
    found = fit_classifier(features, labels, 3, strength=0.1)
    assert found.logits(features).softmax(0)[2].max() < 0.05


def test_logits_do_not_depend_on_the_scale_of_a_feature() -> None:
    features, labels = blobs()
    factor = torch.tensor([1.0, 1000.0, 0.001, 5.0, 1.0])[:, None]
    first = fit_classifier(features, labels, 3, strength=0.1)
    other = fit_classifier(features * factor + 7, labels, 3, strength=0.1)
    torch.testing.assert_close(
        other.logits(features * factor + 7), first.logits(features), rtol=0.02, atol=0.02
    )


def test_a_constant_feature_gives_finite_weights() -> None:
    features, labels = blobs()
    features[2] = 3.0
    found = fit_classifier(features, labels, 3, strength=0.01)
    assert found.logits(features).isfinite().all()
    assert math.isfinite(float(found.weight.abs().sum()))
