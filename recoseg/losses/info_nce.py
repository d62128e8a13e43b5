"""Eq. 1 for each query: -log of the share that its positive key has among all its keys.

With g = log sum_m exp(s_m / tau) - s_+ / tau over the negatives m, the loss of a query is log(1 + exp g), and
its gradient in the query is sigmoid(g) / tau * (softmax-weighted mean of the negative keys - positive key).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from recoseg.losses.negative_keys import NegativeKeys

# Pairs of query and negative key worked on at once: bounds memory, and is enough to keep all cores busy.
_PAIRS_PER_BLOCK = 1 << 20
_ROUNDING = 1e-5  # a cosine must be larger by more than this to rank first


def info_nce(
    queries: Tensor, positives: Tensor, negatives: NegativeKeys, temperature: float, *, rank: bool = False
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
        ctx: Any, queries: Tensor, positives: Tensor, negatives: NegativeKeys, temperature: float, rank: bool
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
