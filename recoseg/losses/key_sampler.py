"""Active key sampling (Eq. 3 and after): which negative pixels the queries of a class are compared with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from recoseg.losses.regions import Regions

# How a query class rates the others, by the cosine (C, N) between the class means and a temperature.
NEGATIVES: dict[str, Callable[[Tensor, float], Tensor]] = {
    "active": lambda cosines, temperature: cosines / temperature,
    "uniform": lambda cosines, temperature: torch.zeros_like(cosines),
}


def negative_distribution(scores: Tensor, own: Tensor) -> Tensor:
    """How often the queries of each class meet each present class: (C, N) float64, rows sum to 1.

    `scores` (C, N) go through a softmax; `own` (C, N) bool marks the query class itself, never drawn.
    """
    # Features that overflowed, as under a loss scaler, shall give a NaN loss, not a failing draw.
    return scores.double().nan_to_num(0).masked_fill(own, float("-inf")).softmax(dim=1)


@dataclass(frozen=True)
class KeySampler:
    """Draws negative pixels: a class by its probability, then any pixel of that class alike."""

    upper: Tensor  # (C, N) float64, cumulative probability up to and including a class
    lower: Tensor  # (C, N) float64, up to and excluding it
    pixels_per_share: Tensor  # (C, N) float64, pixels of a class / its probability
    starts: Tensor  # (N,) where the classes begin in `order`
    order: Tensor  # (P,) pixel numbers, grouped by class
    generator: torch.Generator | None

    @classmethod
    def of(
        cls, probability: Tensor, regions: Regions, present: Tensor, generator: torch.Generator | None
    ) -> KeySampler:
        """`probability` (C, N) of drawing from each present class (N,)."""
        upper = probability.cumsum(dim=1)
        upper = upper / upper[:, -1:]  # ends at exactly 1, where every random number is below
        lower = torch.cat((torch.zeros_like(upper[:, :1]), upper[:, :-1]), dim=1)
        # A hair less than all pixels: rounding must not reach the first pixel of the next class.
        pixels = regions.counts[present].double() * (1 - 1e-12)
        per_share = pixels / (upper - lower).clamp(min=torch.finfo(torch.double).tiny)
        return cls(upper, lower, per_share, regions.starts[present], regions.order, generator)

    def draw(self, classes: slice, num_queries: int, num_keys: int) -> Tensor:
        """Pixel numbers (c, n, M) for n queries of each of the c classes in the slice; the M in class order.

        One random number decides both: the class in whose share of [0, 1) it falls, and by how far it has got
        through that share, the pixel.
        """
        upper, lower = self.upper[classes], self.lower[classes]
        num_classes = len(upper)
        ticket = sorted_uniforms((num_classes, num_queries, num_keys), upper.device, self.generator)
        ticket = ticket.view(num_classes, -1)  # (c, n * M)
        chosen = torch.searchsorted(upper, ticket, right=True)  # the own class has no share: never hit
        into_share = (ticket - lower.gather(1, chosen)).mul_(self.pixels_per_share[classes].gather(1, chosen))
        place = self.starts[chosen].add_(into_share.long())
        return self.order[place].view(num_classes, num_queries, num_keys)


def sorted_uniforms(
    shape: tuple[int, ...], device: torch.device, generator: torch.Generator | None
) -> Tensor:
    """Independent uniform numbers in [0, 1), ascending along the last dimension, in float64.

    Sums of exponential gaps, divided by their total, are distributed as sorted uniform numbers are: no sort
    is needed. Sorted, because queries that go through their keys in the same order share the cache.
    """
    gaps = torch.rand(*shape[:-1], shape[-1] + 1, dtype=torch.double, device=device, generator=generator)
    sums = gaps.neg_().add_(1).log_().cumsum(dim=-1)  # minus the gaps; 1 - u is never 0
    total = sums[..., -1:] * (1 + 1e-12)  # so that a last gap of 0 cannot make a 1
    return sums[..., :-1] / total
