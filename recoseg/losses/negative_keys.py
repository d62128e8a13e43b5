"""Negative keys, and the two products that a contrast needs of them, without holding all keys at once.

`SharedKeys`: the queries of a class share one draw. `OwnKeys`: each query has its own. Both hand out
blocks of queries; a block answers with products (for the loss) and weighted sums of keys (for the gradient).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from recoseg.losses.class_means import inverse_lengths
from recoseg.losses.key_sampler import KeySampler
from recoseg.losses.pixel_vectors import all_vectors, chosen_vectors
from recoseg.losses.sampled_products import sampled_products, sampled_sums

_SLICE_BYTES = 8 << 20  # of the feature map that one slice of the keys touches: what a cache can hold


class KeyBlock(Protocol):
    """The keys of c classes times n queries."""

    def products(self, queries: Tensor) -> Tensor:
        """(c, n, D) -> inner product with each key, as a unit vector (c, n, M)."""

    def weighted_sums(self, weights: Tensor) -> Tensor:
        """(c, n, M) -> sum over the keys, as unit vectors, times their weights (c, n, D)."""


class NegativeKeys(Protocol):
    """The keys of all C classes times Q queries."""

    num_keys: int

    def block(self, classes: slice, num_queries: int) -> KeyBlock:
        """Keys for the next `num_queries` queries of each class in the slice."""


class SharedKeys:
    """One draw of M keys per query class."""

    def __init__(self, features: Tensor, sampler: KeySampler, num_keys: int) -> None:
        pixels = sampler.draw(slice(None), 1, num_keys)[:, 0]  # (C, M)
        self.num_keys = num_keys
        self.vectors = chosen_vectors(features, pixels)  # (C, M, D)
        self.vectors *= inverse_lengths(self.vectors)[:, :, None]

    def block(self, classes: slice, num_queries: int) -> KeyBlock:
        return SharedBlock(self.vectors[classes])


@dataclass(frozen=True)
class SharedBlock:
    vectors: Tensor  # (c, M, D)

    def products(self, queries: Tensor) -> Tensor:
        return torch.bmm(queries, self.vectors.transpose(1, 2))

    def weighted_sums(self, weights: Tensor) -> Tensor:
        return torch.bmm(weights, self.vectors)


class OwnKeys:
    """A draw of M keys for every single query, made when its block is asked for."""

    def __init__(self, features: Tensor, sampler: KeySampler, num_keys: int) -> None:
        self.num_keys = num_keys
        self.sampler = sampler
        self.vectors = all_vectors(features)  # (P, D)
        self.inverse_lengths = inverse_lengths(self.vectors)  # (P,)

    def block(self, classes: slice, num_queries: int) -> KeyBlock:
        pixels = self.sampler.draw(classes, num_queries, self.num_keys)  # (c, n, M)
        return OwnBlock(self.vectors, pixels, self.inverse_lengths[pixels])


@dataclass(frozen=True)
class OwnBlock:
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


KEYS: dict[str, Callable[[Tensor, KeySampler, int], NegativeKeys]] = {
    "per_query": OwnKeys,
    "shared": SharedKeys,
}
"""Maker of negative keys by (features (B, D, h, w) without gradient, sampler, number of keys)."""
