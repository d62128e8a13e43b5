"""Products of each query with pixels of its own choice, out of one table of vectors.

Gathering the pixels first would write (N, m, D) numbers only to read them once. On a CPU torch has kernels
that read the table directly; elsewhere, where memory is fast, pixels are gathered a bounded part at a time.
"""

from __future__ import annotations

import functools
import warnings

import torch
import torch.nn.functional as F
from torch import Tensor

_GATHERED_BYTES = 64 << 20


def sampled_products(vectors: Tensor, queries: Tensor, pixels: Tensor) -> Tensor:
    """Inner product of each query with each of its pixels: (P, D), (N, D), (N, m) -> (N, m)."""
    # A sparse matrix cannot have more entries in a row than columns, though here they may repeat.
    fits = vectors.device.type == "cpu" and pixels.shape[1] <= len(vectors)
    return (csr_products if fits else gathered_products)(vectors, queries, pixels)


def sampled_sums(vectors: Tensor, weights: Tensor, pixels: Tensor) -> Tensor:
    """Weighted sum of the pixels of each row: (P, D), (N, m), (N, m) -> (N, D)."""
    if vectors.device.type == "cpu":
        return F.embedding_bag(pixels, vectors, mode="sum", per_sample_weights=weights)
    return gathered_sums(vectors, weights, pixels)


def csr_products(vectors: Tensor, queries: Tensor, pixels: Tensor) -> Tensor:
    """By torch's sampled matrix product, which takes the wanted pairs as the pattern of a sparse matrix."""
    _hush_the_beta_warning()
    num_queries, num_keys = pixels.shape
    pattern = torch.sparse_csr_tensor(
        torch.arange(0, num_queries * num_keys + 1, num_keys),
        pixels.reshape(-1),
        vectors.new_zeros(num_queries * num_keys),
        size=(num_queries, len(vectors)),
        check_invariants=False,  # columns may repeat and need not ascend: no harm to this product
    )
    products: Tensor = torch.sparse.sampled_addmm(pattern, queries, vectors.t(), beta=0)
    return products.values().view(pixels.shape)


def gathered_products(vectors: Tensor, queries: Tensor, pixels: Tensor) -> Tensor:
    rows = _rows_at_once(vectors, pixels)
    parts = zip(torch.split(pixels, rows), torch.split(queries, rows), strict=True)
    return torch.cat([torch.bmm(vectors[chosen], query[:, :, None])[:, :, 0] for chosen, query in parts])


def gathered_sums(vectors: Tensor, weights: Tensor, pixels: Tensor) -> Tensor:
    rows = _rows_at_once(vectors, pixels)
    parts = zip(torch.split(pixels, rows), torch.split(weights, rows), strict=True)
    return torch.cat([torch.bmm(weight[:, None, :], vectors[chosen])[:, 0] for chosen, weight in parts])


def _rows_at_once(vectors: Tensor, pixels: Tensor) -> int:
    bytes_per_row = pixels.shape[1] * vectors.shape[1] * vectors.element_size()
    return max(1, _GATHERED_BYTES // bytes_per_row)


@functools.cache
def _hush_the_beta_warning() -> None:
    """Torch says once per process that its sparse layout is in beta; users of a loss need not hear it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        torch.sparse_csr_tensor(
            torch.zeros(2, dtype=torch.long), torch.zeros(0, dtype=torch.long), [], size=(1, 1)
        )
