"""ReCo, regional contrast: pixels are pulled to the mean of their class, and pushed from confusable classes.

Choose queries, choose keys, compare, average; `docs/regional_contrast.md` explains it with a picture.
"""

from __future__ import annotations

from typing import Literal, overload

import torch
from torch import Tensor, nn

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


class RegionalContrast(nn.Module):
    """The ReCo loss (Eq. 1 to 4), averaged over queries and over the classes that have any.

    Queries are hard up to the probability `hard_below`, as in the paper; or, with `hard_share`, the hardest
    share of each class's pixels, however hard these are. In a young network nearly all pixels are below 0.97.

    For ablations, queries may be any pixels of each class (`random`), or any pixels whatever their class
    (`pixels`), so that rare classes are seldom asked; and negative keys come from all other classes alike
    (`uniform`), or from all pixels of other classes alike (`pixels`, Eq. 1 as it is written).

    With a `bank` of features negative keys come from there, and by its choice class means too.

    It has no parameters, and no state but its bank. Under `torch.distributed` class means are those of the
    global batch, so every process must call it in each step; queries and keys are a process's own pixels.
    """

    def __init__(
        self,
        *,
        num_queries: int = 256,
        num_keys: int = 512,
        temperature: float = 0.5,
        hard_below: float = 0.97,
        hard_share: float | None = None,
        queries: Literal["hard", "random", "easy", "pixels"] = "hard",
        negatives: Literal["active", "uniform", "pixels"] = "active",
        keys: Literal["shared", "per_query"] = "shared",
        graph_temperature: float = 1.0,
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
        """(B, D, h, w), (B, h, w), (B, K, h, w) -> scalar. Pixels of label 255, or what `ignore_index` is,
        take no part.

        NaN if a probability of a pixel that takes part is NaN. Exactly 0, and connected to the features, when
        fewer than two classes are present or none has a query. Draws come from `generator`, or else from
        torch's own.
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
