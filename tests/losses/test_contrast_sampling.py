"""Both ways of drawing keys have the expected loss and gradient of a plain reference, and no other.

The reference draws nothing: with two negative keys all pairs can be counted out, so its expectation is exact.
The bound is tight enough to tell it from the expectations of samplers that are wrong, which is tested too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from recoseg import RegionalContrast

LABELS = torch.tensor([0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3])
PROBABILITY = torch.tensor(
    [0.5, 0.2, 0.97, 0.99, 0.4, 0.1, 0.3, 0.98, 0.5, 0.7, 0.6, 0.99]
)  # of the own label
FEATURES = torch.tensor(
    [[3.0, 0.5, 0.1], [1.0, 1.0, 0.2], [0.3, -0.2, 0.1], [2.0, 0.0, 1.0], [0.5, 0.2, -0.6],
     [1.5, 0.1, 1.0], [-0.2, 2.0, 0.3], [1.0, 1.5, 0.0], [0.4, 0.3, 0.9],
     [-1.0, 0.4, 2.0], [0.2, -3.0, 1.0], [-2.0, -0.3, 0.4]],
    dtype=torch.double,
)  # fmt: skip
TEMPERATURE, HARD_BELOW = 0.5, 0.97


@dataclass(frozen=True)
class Reference:
    """The loss as the paper writes it, and ways in which a sampler might get it wrong."""

    class_weight: Callable[[Tensor], Tensor] = torch.exp  # of the cosine between class means
    pixel_weight: Callable[[int], Tensor] = torch.ones  # of the n pixels of a class
    by_class_size: bool = False
    own_class_is_negative: bool = False
    has_positive: bool = True
    mean_of_directions: bool = False
    only_hard: bool = True
    over_pixels: bool = False
    gradient_through_keys: bool = False

    def expectation(self) -> tuple[Tensor, Tensor]:
        """Expected loss, and its gradient in the features (12, 3)."""
        features = FEATURES.clone().requires_grad_()
        losses = []
        for query_class in range(4):
            of_class = [
                self.of_query(pixel, features)
                for pixel in range(len(LABELS))
                if LABELS[pixel] == query_class and (PROBABILITY[pixel] <= HARD_BELOW or not self.only_hard)
            ]
            if of_class:  # class 3 has no hard pixel: it is a negative only
                losses += of_class if self.over_pixels else [sum(of_class) / len(of_class)]
        loss = sum(losses) / len(losses)
        return loss.detach(), torch.autograd.grad(loss, features)[0]

    def of_query(self, pixel: int, features: Tensor) -> Tensor:
        keys = features if self.gradient_through_keys else features.detach()
        query, query_class = F.normalize(features[pixel], dim=0), int(LABELS[pixel])
        positive = torch.exp(query @ self.mean(query_class, keys) / TEMPERATURE)
        key_weight = self.key_weights(query_class, keys.detach())  # (12,)
        key_score = torch.exp(F.normalize(keys, dim=1) @ query / TEMPERATURE)  # (12,)
        loss_of_pair = -torch.log(positive / (positive * self.has_positive + key_score[:, None] + key_score))
        return (key_weight[:, None] * key_weight * loss_of_pair).sum()

    def key_weights(self, query_class: int, keys: Tensor) -> Tensor:
        """How likely each pixel is to be drawn as a negative of the query class: (12,)."""
        weights = torch.zeros(len(LABELS), dtype=torch.double)
        for other in range(4):
            if other != query_class or self.own_class_is_negative:
                relation = self.mean(query_class, keys) @ self.mean(other, keys)
                pixels = self.pixel_weight(int((other == LABELS).sum())).double()
                shares = pixels if self.by_class_size else pixels / pixels.sum()
                weights[other == LABELS] = self.class_weight(relation) * shares
        return weights / weights.sum()

    def mean(self, of_class: int, keys: Tensor) -> Tensor:
        vectors = F.normalize(keys, dim=1) if self.mean_of_directions else keys
        return F.normalize(vectors[of_class == LABELS].mean(0), dim=0)


PLAIN = Reference()
WRONG = {
    "all negative classes alike": replace(PLAIN, class_weight=torch.ones_like),
    "a temperature where the paper has none": replace(PLAIN, class_weight=lambda x: torch.exp(x / 0.5)),
    "the far classes more often": replace(PLAIN, class_weight=lambda x: torch.exp(-x)),
    "the first pixel of a class only": replace(PLAIN, pixel_weight=lambda n: torch.eye(n)[0]),
    "never the last pixel of a class": replace(PLAIN, pixel_weight=lambda n: 1 - (n > 1) * torch.eye(n)[-1]),
    "later pixels more often": replace(PLAIN, pixel_weight=lambda n: torch.arange(1.0, n + 1)),
    "large classes more often": replace(PLAIN, by_class_size=True),
    "own class among the negatives": replace(PLAIN, own_class_is_negative=True),
    "positive missing below the line": replace(PLAIN, has_positive=False),
    "mean of directions": replace(PLAIN, mean_of_directions=True),
    "easy queries too": replace(PLAIN, only_hard=False),
}


def draws(num_runs: int, **settings: object) -> tuple[Tensor, Tensor]:
    """Losses (runs,) and gradients (runs, 12, 3)."""
    contrast = RegionalContrast(num_keys=2, temperature=TEMPERATURE, hard_below=HARD_BELOW, **settings)
    probabilities = ((1 - PROBABILITY) / 3).repeat(4, 1).scatter(0, LABELS[None], PROBABILITY[None])
    generator = torch.Generator().manual_seed(0)
    losses, gradients = [], []
    for _ in range(num_runs):
        features = FEATURES.t().reshape(1, 3, 3, 4).clone().requires_grad_()
        loss = contrast(features, LABELS.view(1, 3, 4), probabilities.view(1, 4, 3, 4), generator=generator)
        losses.append(loss.detach())
        gradients.append(torch.autograd.grad(loss, features)[0].view(3, 12).t())
    return torch.stack(losses), torch.stack(gradients)


def distance(samples: Tensor, expected: Tensor) -> float:
    """From the mean of the samples, in standard errors; the largest of all numbers."""
    error = samples.std(0) / len(samples) ** 0.5
    return float(((samples.mean(0) - expected).abs() / error.clamp(min=1e-12)).nan_to_num(0).max())


KINDS = {
    "per_query": {"keys": "per_query", "num_queries": 20_000},
    "shared": {"keys": "shared", "num_queries": 12},
}
NUM_RUNS = {"per_query": 40, "shared": 2500}


@pytest.fixture(scope="module", params=KINDS)
def samples(request: pytest.FixtureRequest) -> tuple[Tensor, Tensor]:
    return draws(NUM_RUNS[request.param], **KINDS[request.param])


def test_the_mean_over_many_draws_is_the_expectation_of_the_plain_reference(
    samples: tuple[Tensor, Tensor],
) -> None:
    losses, gradients = samples
    loss, gradient = PLAIN.expectation()
    assert distance(losses, loss) < 3.5
    assert distance(gradients, gradient) < 4.5  # the largest of 36 numbers


@pytest.mark.parametrize("mistake", WRONG)
def test_the_same_bound_refuses_a_sampler_that_is_wrong(samples: tuple[Tensor, Tensor], mistake: str) -> None:
    losses, gradients = samples
    loss, gradient = WRONG[mistake].expectation()
    assert max(distance(losses, loss), distance(gradients, gradient)) > 7


def test_the_bound_refuses_a_gradient_through_keys(samples: tuple[Tensor, Tensor]) -> None:
    _, gradient = replace(PLAIN, gradient_through_keys=True).expectation()
    assert distance(samples[1], gradient) > 7


@pytest.mark.no_cover
@pytest.mark.parametrize("keys", KINDS)
@pytest.mark.parametrize(
    ("settings", "reference"),
    [
        ({"negatives": "uniform"}, replace(PLAIN, class_weight=torch.ones_like)),
        ({"graph_temperature": 0.5}, replace(PLAIN, class_weight=lambda x: torch.exp(x / 0.5))),
        ({"queries": "random"}, replace(PLAIN, only_hard=False)),
        ({"queries": "pixels"}, replace(PLAIN, only_hard=False, over_pixels=True)),
        ({"negatives": "pixels"}, replace(PLAIN, class_weight=torch.ones_like, by_class_size=True)),
    ],
)
def test_the_ablations_have_their_own_expectation(
    keys: str, settings: dict[str, object], reference: Reference
) -> None:
    losses, gradients = draws(NUM_RUNS[keys] // 2, **KINDS[keys], **settings)
    loss, gradient = reference.expectation()
    assert distance(losses, loss) < 3.5
    assert distance(gradients, gradient) < 4.5
    assert distance(losses, PLAIN.expectation()[0]) > 6
