"""The mean feature of each class over the batch (of all processes, if several), and how the means relate."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from recoseg.distributed import sum_over_processes, world_size
from recoseg.losses.regional_contrast.pixel_vectors import all_vectors

_SUMS_PER_CLASS = 4


@dataclass(frozen=True)
class Prototypes:
    """Eq. 2 and 3: the positive keys, and how alike they are."""

    counts: Tensor  # (K,) pixels of each class, over all processes
    vectors: Tensor  # (K, D) mean of the features as they are; 0 for a class that nobody has
    directions: Tensor  # (K, D) the same, of length 1
    graph: Tensor  # (K, K) cosine between any two


@torch.no_grad()
def class_prototypes(features: Tensor, labels: Tensor, counts: Tensor) -> Prototypes:
    """Means over the valid pixels of the batch, joined over all processes.

    `features` (B, D, h, w); `labels` (B, h, w) int64, K for a pixel that takes no part; `counts` (K,) pixels
    of each class here. Every process must call this, whatever it holds: here they wait for each other.
    """
    sums = class_sums(features, labels, len(counts))  # (K, D)
    counts = counts.to(sums.dtype)
    if world_size() > 1:
        both = torch.cat((sums, counts[:, None]), dim=1)  # (K, D + 1): one message instead of two
        both = sum_over_processes(both)
        sums, counts = both[:, :-1], both[:, -1]
    vectors = sums / counts.clamp(min=1)[:, None]
    directions = unit_vectors(vectors)
    return Prototypes(counts, vectors, directions, directions @ directions.t())


def class_sums(features: Tensor, labels: Tensor, num_classes: int) -> Tensor:
    """Sum of the features of each class, (K, D): one pass over the features, whatever K.

    A product with one-hot labels would cost K times as much, and spread an inf at an ignored pixel to all.
    """
    num_images, num_channels = features.shape[:2]
    if features.is_contiguous(memory_format=torch.channels_last):
        sums = features.new_zeros(num_classes + 1, num_channels)
        return sums.index_add_(0, labels.flatten(), all_vectors(features))[:num_classes]
    # Neighbours are mostly of one class, and adding to one number again and again waits for each addition to
    # end. So each class has several sums, which take turns.
    turns = torch.arange(labels.shape[1] * labels.shape[2], device=labels.device) % _SUMS_PER_CLASS
    places = labels.flatten(1) * _SUMS_PER_CLASS + turns  # (B, h * w)
    sums = features.new_zeros(num_images, num_channels, (num_classes + 1) * _SUMS_PER_CLASS)
    sums.scatter_add_(2, places[:, None].expand(-1, num_channels, -1), features.flatten(2))
    by_turn = sums.sum(0).view(num_channels, num_classes + 1, _SUMS_PER_CLASS)
    return by_turn.sum(2).t()[:num_classes]


def unit_vectors(vectors: Tensor) -> Tensor:
    """(..., D) scaled to length 1. A zero vector stays zero, and gets no gradient, having no direction."""
    return vectors * inverse_lengths(vectors)[..., None]


def inverse_lengths(vectors: Tensor) -> Tensor:
    """1 / length, 0 for a zero vector: (..., D) -> (...)."""
    lengths: Tensor = torch.linalg.vector_norm(vectors, dim=-1)
    is_zero = lengths < 1e-12
    return lengths.masked_fill(is_zero, 1).reciprocal().masked_fill(is_zero, 0)
