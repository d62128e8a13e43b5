"""The regional contrast, said as plainly as possible: read this first. Slow, and the oracle of the tests."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor


def plain_regional_contrast(
    features: Tensor,
    labels: Tensor,
    probabilities: Tensor,
    *,
    num_queries: int = 256,
    num_keys: int = 512,
    temperature: float = 0.5,
    hard_below: float = 0.97,
    graph_temperature: float = 1.0,
    bank: Mapping[int, Tensor] | None = None,
    prototypes_of_bank: bool = False,
    generator: torch.Generator | None = None,
) -> Tensor:
    """(B, D, h, w), (B, h, w) with 255 where a pixel takes no part, (B, K, h, w) -> scalar: Eq. 1 to 4.

    With a `bank`, class -> stored features (n, D), of two classes or more, negative keys come from there.
    """
    vectors = features.permute(0, 2, 3, 1).flatten(0, 2)  # (P, D)
    probabilities, labels = probabilities.permute(0, 2, 3, 1).flatten(0, 2), labels.flatten()  # (P, K), (P,)
    pixels = {k: vectors[labels == k] for k in range(probabilities.shape[1]) if (labels == k).any()}
    source = bank if bank is not None and len(bank) >= 2 else pixels  # of negative keys
    # Eq. 2: the positive key of a class is the mean of its features, in direction.
    regions = {**pixels, **source} if prototypes_of_bank else {**source, **pixels}
    prototype = {k: F.normalize(members.detach().mean(0), dim=0) for k, members in regions.items()}

    losses = []
    for k in pixels:
        # Eq. 4: a query is a pixel of the class that the network is not sure of.
        hard = pixels[k][probabilities[labels == k, k] <= hard_below]
        others = [other for other in source if other != k]
        if not len(hard) or not others:
            continue
        # Eq. 3: the more a class is like this one, the more often its pixels are negative keys.
        likeness = torch.stack([prototype[k] @ prototype[other] for other in others])  # (N - 1,)
        how_often = (likeness / graph_temperature).softmax(0)
        for number in torch.randint(len(hard), (num_queries,), generator=generator):
            query = F.normalize(hard[number], dim=0)  # (D,)
            negatives = []
            for place in how_often.multinomial(num_keys, replacement=True, generator=generator):
                members = source[others[place]].detach()
                negatives.append(members[torch.randint(len(members), (), generator=generator)])
            keys = torch.stack([prototype[k], *(F.normalize(key, dim=0) for key in negatives)])  # (1 + M, D)
            # Eq. 1: the share of the positive key among all keys.
            losses.append(-(keys @ query / temperature).log_softmax(0)[0])
    return torch.stack(losses).mean() if losses else features[:0].sum()
