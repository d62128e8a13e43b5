"""Comparing: Eq. 1 for each query, -log of the share that its positive key has among all its keys.

With g = log sum_m exp(s_m / tau) - s_+ / tau over the negatives m, the loss of a query is log(1 + exp g), and
its gradient in the query is sigmoid(g) / tau * (softmax-weighted mean of the negative keys - positive key).

Keys are never all held at once. `_SharedKeys`: the queries of a class share one draw; `_OwnKeys`: each query
has its own. Both hand out blocks of queries, which answer with products and weighted sums of keys.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from recoseg.losses.regional_contrast.choosing import KeySampler
from recoseg.losses.regional_contrast.pixel_vectors import all_vectors, chosen_vectors
from recoseg.losses.regional_contrast.prototypes import inverse_lengths
from recoseg.losses.regional_contrast.sampled_products import sampled_products, sampled_sums

# Pairs of query and negative key worked on at once: bounds memory, and is enough to keep all cores busy.
_PAIRS_PER_BLOCK = 1 << 20
_ROUNDING = 1e-5  # a cosine must be larger by more than this to rank first


def info_nce(
    queries: Tensor, positives: Tensor, negatives: _NegativeKeys, temperature: float, *, rank: bool = False
) -> tuple[Tensor, Tensor]:
    """Loss of each query, and if `rank`, whether its positive key is nearer than all negatives: both (C, Q).

    `queries` (C, Q, D) and `positives` (C, D) are unit vectors. Only queries get a gradient.
    """
    result = _InfoNCE.apply(queries, positives, negatives, temperature, rank)  # type: ignore[no-untyped-call]
    losses, ranked_first = result
    return losses, ranked_first


class _InfoNCE(torch.autograd.Function):
    """Works out the gradient with the loss, block by block, while the keys are at hand.

    So nothing but the gradient of the queries is kept: no keys, no similarities, no draws.
    """

    @staticmethod
    def forward(
        ctx: Any, queries: Tensor, positives: Tensor, negatives: _NegativeKeys, temperature: float, rank: bool
    ) -> tuple[Tensor, Tensor]:
        losses = queries.new_empty(queries.shape[:2])
        ranked_first = torch.zeros_like(losses, dtype=torch.bool)
        gradient = torch.empty_like(queries) if ctx.needs_input_grad[0] else None
        for block in _blocks(queries.shape[0], queries.shape[1], negatives.num_keys):
            classes, members = block
            keys = negatives.block(classes, members.stop - members.start)
            query, positive = queries[block] / temperature, positives[classes]
            nearness = torch.bmm(query, positive[:, :, None])[:, :, 0]  # (c, n)
            gap, weights, nearest = _log_sum_exp(keys.products(query))
            gap -= nearness
            losses[block] = torch.logaddexp(gap, torch.zeros_like(gap))
            if rank:
                ranked_first[block] = nearness - nearest > _ROUNDING / temperature
            if gradient is not None:
                away = keys.weighted_sums(weights) - positive[:, None]  # (c, n, D)
                torch.mul(away, gap.sigmoid()[:, :, None] / temperature, out=gradient[block])
        ctx.gradient = gradient
        ctx.mark_non_differentiable(ranked_first)
        return losses, ranked_first

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_losses: Tensor, _: Tensor) -> tuple[Tensor, None, None, None, None]:
        return ctx.gradient * of_losses[:, :, None], None, None, None, None


def _log_sum_exp(scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Over the last dimension: log-sum-exp, softmax and maximum, in three passes instead of six."""
    largest, weights = scores.amax(dim=-1), scores.softmax(dim=-1)
    return largest - weights.amax(dim=-1).log(), weights, largest


def _blocks(num_classes: int, num_queries: int, num_keys: int) -> Iterator[tuple[slice, slice]]:
    """Slices of classes and of their queries that cover all, each with a bounded number of pairs."""
    members = _even_part(num_queries, _PAIRS_PER_BLOCK // num_keys)
    classes = _even_part(num_classes, _PAIRS_PER_BLOCK // (members * num_keys))
    for first_class in range(0, num_classes, classes):
        for first in range(0, num_queries, members):
            yield slice(first_class, first_class + classes), slice(first, min(first + members, num_queries))


def _even_part(total: int, most: int) -> int:
    """The size of parts that are at most so large and about equal: a small last one leaves cores idle."""
    return math.ceil(total / math.ceil(total / max(1, most)))


_SLICE_BYTES = 8 << 20  # of the feature map that one slice of the keys touches: what a cache can hold


class _KeyBlock(Protocol):
    """The keys of c classes times n queries."""

    def products(self, queries: Tensor) -> Tensor:
        """(c, n, D) -> inner product with each key, as a unit vector (c, n, M)."""

    def weighted_sums(self, weights: Tensor) -> Tensor:
        """(c, n, M) -> sum over the keys, as unit vectors, times their weights (c, n, D)."""


class _NegativeKeys(Protocol):
    """The keys of all C classes times Q queries."""

    num_keys: int

    def block(self, classes: slice, num_queries: int) -> _KeyBlock:
        """Keys for the next `num_queries` queries of each class in the slice."""


class _SharedKeys:
    """One draw of M keys per query class."""

    def __init__(self, features: Tensor, sampler: KeySampler, num_keys: int) -> None:
        pixels = sampler.draw(slice(None), 1, num_keys)[:, 0]  # (C, M)
        self.num_keys = num_keys
        self.vectors = chosen_vectors(features, pixels)  # (C, M, D)
        self.vectors *= inverse_lengths(self.vectors)[:, :, None]

    def block(self, classes: slice, num_queries: int) -> _KeyBlock:
        return SharedBlock(self.vectors[classes])


@dataclass(frozen=True)
class SharedBlock:
    vectors: Tensor  # (c, M, D)

    def products(self, queries: Tensor) -> Tensor:
        return torch.bmm(queries, self.vectors.transpose(1, 2))

    def weighted_sums(self, weights: Tensor) -> Tensor:
        return torch.bmm(weights, self.vectors)


class _OwnKeys:
    """A draw of M keys for every single query, made when its block is asked for."""

    def __init__(self, features: Tensor, sampler: KeySampler, num_keys: int) -> None:
        self.num_keys = num_keys
        self.sampler = sampler
        self.vectors = all_vectors(features)  # (P, D)
        self.inverse_lengths = inverse_lengths(self.vectors)  # (P,)

    def block(self, classes: slice, num_queries: int) -> _KeyBlock:
        pixels = self.sampler.draw(classes, num_queries, self.num_keys)  # (c, n, M)
        return _OwnBlock(self.vectors, pixels, self.inverse_lengths[pixels])


@dataclass(frozen=True)
class _OwnBlock:
    """The lengths of the keys enter after the product: no scaled copy of the feature map is needed."""

    vectors: Tensor  # (P, D), of any length
    pixels: Tensor  # (c, n, M)
    inverse_lengths: Tensor  # (c, n, M), of those pixels

    def products(self, queries: Tensor) -> Tensor:
        flat = queries.reshape(-1, queries.shape[-1])  # (N, D)
        products = [sampled_products(self.vectors, flat, part) for part in self._slices(self.pixels)]
        return torch.cat(products, dim=1).view_as(self.pixels).mul_(self.inverse_lengths)

    def weighted_sums(self, weights: Tensor) -> Tensor:
        scaled = weights * self.inverse_lengths
        sums = self.vectors.new_zeros(weights.shape[0] * weights.shape[1], self.vectors.shape[1])  # (N, D)
        for part, weight in zip(self._slices(self.pixels), self._slices(scaled), strict=True):
            sums += sampled_sums(self.vectors, weight, part)
        return sums.view(*weights.shape[:2], -1)

    def _slices(self, per_key: Tensor) -> tuple[Tensor, ...]:
        """(c, n, M) -> slices (N, m). Keys are in class order, so queries visit the same classes together."""
        num_slices = math.ceil(self.vectors.numel() * self.vectors.element_size() / _SLICE_BYTES)
        return torch.split(per_key.flatten(0, 1), math.ceil(per_key.shape[2] / num_slices), dim=1)


KEYS: dict[str, Callable[[Tensor, KeySampler, int], _NegativeKeys]] = {
    "per_query": _OwnKeys,
    "shared": _SharedKeys,
}
"""Maker of negative keys by (features (B, D, h, w) without gradient, sampler, number of keys)."""
