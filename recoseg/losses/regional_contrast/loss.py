"""ReCo, regional contrast: pixels are pulled to the mean of their class, and pushed from confusable classes.

Choose queries, choose keys, compare, average; `docs/regional_contrast.md` explains it with a picture.
"""

from __future__ import annotations

from typing import Literal, overload

import torch
from torch import Tensor, nn

from recoseg.config.contrast_settings import ContrastSettings
from recoseg.errors import UserError, require_whole
from recoseg.losses.regional_contrast.bank import FeatureBank
from recoseg.losses.regional_contrast.checks import (
    check_above_zero,
    check_ignore_index,
    check_inputs,
    check_probability,
    check_share,
)
from recoseg.losses.regional_contrast.choosing import (
    NEGATIVES,
    QUERIES,
    ContrastPixels,
    KeySampler,
    PresentClasses,
    Regions,
    choose_queries,
    find_present,
    group_by_class,
    hardest,
    negative_distribution,
)
from recoseg.losses.regional_contrast.comparing import KEYS, info_nce
from recoseg.losses.regional_contrast.pixel_vectors import chosen_vectors
from recoseg.losses.regional_contrast.prototypes import Prototypes, class_prototypes, unit_vectors
from recoseg.losses.regional_contrast.stats import ContrastStats, contrast_stats
from recoseg.text import lookup
from recoseg.types import IGNORE

#: The only declaration of its defaults.
PAPER = ContrastSettings()


class RegionalContrast(nn.Module):
    """ReCo loss (Eq. 1 to 4 of the paper), averaged over queries and over the classes that have any.

    The loss has no parameters, and no state except its bank. Under `torch.distributed` class means are those
    of the global batch, so every process must call the loss in each step. Each process draws queries and keys
    from its own pixels.

    Args:
        num_queries: Queries of a class in a step (appendix A: 256).
        num_keys: Negative keys of a query (appendix A: 512).
        temperature: tau of Eq. 1.
        hard_below: delta_s of Eq. 4. A query is hard if the probability of its label is at most this.
        hard_share: Use this share of each class's pixels as hard queries, those with the lowest probability,
            in place of `hard_below`. In a young network nearly all pixels are below 0.97.
        queries: Choice of queries: "hard" (Eq. 4), "random", "easy", or "pixels", which weighs each class by
            its number of pixels.
        negatives: Choice of negative keys: "active", by the relation graph of Eq. 3; "uniform", all other
            classes with equal weight; "pixels", all pixels of other classes with equal weight (Eq. 1 alone).
        keys: "shared" draws one set of keys for all queries of a class, "per_query" a set for each query.
        graph_temperature: Temperature of the softmax over Eq. 3 (section 3.2). The paper has none: 1.
        bank: Stored features from which negative keys come in place of the batch.
        ignore_index: Label of pixels that take no part, in addition to 255.

    Raises:
        UserError: An argument is out of range, or has no effect with the others.

    Example:
        >>> import torch
        >>> from recoseg import RegionalContrast
        >>> features = torch.randn(2, 16, 8, 8, requires_grad=True)  # (B, D, h, w)
        >>> labels = torch.randint(0, 4, (2, 8, 8))  # (B, h, w), 255 where a pixel has no label
        >>> probabilities = torch.randn(2, 4, 8, 8).softmax(1)  # (B, K, h, w)
        >>> contrast = RegionalContrast(num_queries=32, num_keys=64)
        >>> loss = contrast(features, labels, probabilities)
        >>> loss.backward()
        >>> features.grad.shape
        torch.Size([2, 16, 8, 8])
    """

    def __init__(
        self,
        *,
        num_queries: int = PAPER.num_queries,
        num_keys: int = PAPER.num_keys,
        temperature: float = PAPER.temperature,
        hard_below: float = PAPER.hard_below,
        hard_share: float | None = PAPER.hard_share,
        queries: Literal["hard", "random", "easy", "pixels"] = PAPER.queries,
        negatives: Literal["active", "uniform", "pixels"] = PAPER.negatives,
        keys: Literal["shared", "per_query"] = PAPER.keys,
        graph_temperature: float = PAPER.graph_temperature,
        bank: FeatureBank | None = None,
        ignore_index: int = IGNORE,
    ) -> None:
        super().__init__()
        check_ignore_index(ignore_index)
        require_whole("num_queries", num_queries)
        require_whole("num_keys", num_keys)
        check_above_zero("temperature", temperature)
        check_probability("hard_below", hard_below)
        if hard_share is not None:
            check_share("hard_share", hard_share)
            if queries != "hard":
                raise UserError(f"hard_share: got {hard_share}, no effect with queries={queries!r}")
        check_above_zero("graph_temperature", graph_temperature)
        for name, choice, table in (
            ("queries", queries, QUERIES),
            ("negatives", negatives, NEGATIVES),
            ("keys", keys, KEYS),
        ):
            lookup(table, choice, what=f"{name}=")
        if negatives != "active" and graph_temperature != 1:
            raise UserError(
                f"graph_temperature: got {graph_temperature}, no effect with negatives={negatives!r}"
            )
        self.num_queries = num_queries
        self.num_keys = num_keys
        self.temperature = temperature
        self.hard_below = hard_below
        self.hard_share = hard_share
        self.queries = queries
        self.negatives = negatives
        self.keys = keys
        self.graph_temperature = graph_temperature
        self.ignore_index = ignore_index
        self.bank = bank

    @overload
    def forward(
        self,
        features: Tensor,
        labels: Tensor,
        probabilities: Tensor,
        *,
        generator: torch.Generator | None = None,
        return_stats: Literal[False] = False,
    ) -> Tensor: ...

    @overload
    def forward(
        self,
        features: Tensor,
        labels: Tensor,
        probabilities: Tensor,
        *,
        generator: torch.Generator | None = None,
        return_stats: Literal[True],
    ) -> tuple[Tensor, ContrastStats]: ...

    def forward(
        self,
        features: Tensor,
        labels: Tensor,
        probabilities: Tensor,
        *,
        generator: torch.Generator | None = None,
        return_stats: bool = False,
    ) -> Tensor | tuple[Tensor, ContrastStats]:
        """Return the loss of a batch, at the size of the features.

        Args:
            features: (B, D, h, w) output of the representation head, of any length (section 3.1).
            labels: (B, h, w) labels or pseudo-labels, as integers; see `recoseg.shrink_labels`.
            probabilities: (B, K, h, w) softmax of the logits; it chooses queries and gets no gradient.
            generator: Source of random draws, on the device of the features; by default torch's own.
            return_stats: Also return a `ContrastStats`.

        Returns:
            A scalar. It is 0 and connected to the features if fewer than two classes are present or none has
            a query, and NaN if the probability of a pixel that takes part is NaN.

        Raises:
            UserError: Shapes, types or devices do not fit, or a label is no class.
        """
        check_inputs(features, labels, probabilities, generator)
        if self.ignore_index != IGNORE:
            labels = labels.long().masked_fill(labels == self.ignore_index, IGNORE)
        if self.bank is not None:
            self.bank.require_fit(features, probabilities)
        with torch.autocast(features.device.type, enabled=False):
            features = features if features.dtype == torch.float64 else features.float()
            pixels = ContrastPixels.of(labels, probabilities)
            candidates = self._candidates(pixels)  # (B, h, w) bool
            regions = group_by_class(pixels.labels, candidates, pixels.num_classes, generator)
            # Processes meet here, before any of them may find that it has nothing to compare.
            means = class_prototypes(features, pixels.labels, regions.counts)
            stored = None if self.bank is None else self.bank.usable()
            classes = find_present(pixels, regions, self.queries, stored)
            if self.bank is not None and classes.from_bank:
                means = self.bank.prototypes_with(means)

            ranked_first = None
            if classes.inactive_because:
                loss = features[:0].sum()  # 0, and a gradient of 0, even if the features hold inf
            else:
                losses, ranked_first = self._compare(
                    features, regions, classes, means, generator, return_stats
                )
                if self.queries == "pixels":  # as often as a class is there, by weight instead of by number
                    counts = regions.counts[classes.with_queries].to(losses)
                    loss = losses.mean(1) @ (counts / counts.sum())
                else:
                    loss = losses.mean()  # classes have equally many queries: the mean over both
            # A network that gives NaN has no hard pixels: without this its loss would be 0.
            loss = loss + pixels.zero_or_nan
        if not return_stats:
            return loss
        return loss, contrast_stats(means, pixels, classes, ranked_first, self.hard_below, self.num_keys)

    def _candidates(self, pixels: ContrastPixels) -> Tensor:
        """(B, h, w) bool: which pixels may be queries."""
        if self.hard_share is not None:
            return hardest(pixels.own_probability, pixels.labels, pixels.num_classes, self.hard_share)
        return QUERIES[self.queries](pixels.own_probability, self.hard_below)

    def _compare(
        self,
        features: Tensor,
        regions: Regions,
        classes: PresentClasses,
        means: Prototypes,
        generator: torch.Generator | None,
        rank: bool,
    ) -> tuple[Tensor, Tensor]:
        """Loss of each query, and whether its positive key ranks first: both (C, Q)."""
        with_queries, present = classes.with_queries, classes.present  # (C,), (N,)
        query_pixels = choose_queries(regions, with_queries, self.num_queries)  # (C, Q)
        queries = unit_vectors(chosen_vectors(features, query_pixels))  # (C, Q, D)

        key_map, among = features.detach(), regions
        if self.bank is not None and classes.from_bank:
            key_map, among = self.bank.as_map().to(features.dtype), self.bank.regions()
        cosines, counts = means.graph[with_queries][:, present], among.counts[present]
        scores = NEGATIVES[self.negatives](cosines, counts, self.graph_temperature)
        probability = negative_distribution(scores, own=with_queries[:, None] == present)  # (C, N)
        sampler = KeySampler.of(probability, among, present, generator)
        negatives = KEYS[self.keys](key_map, sampler, self.num_keys)

        return info_nce(queries, means.directions[with_queries], negatives, self.temperature, rank=rank)

    def extra_repr(self) -> str:
        names = ("num_queries", "num_keys", "temperature", "hard_below", "hard_share", "queries", "negatives")
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in (*names, "keys", "graph_temperature"))
