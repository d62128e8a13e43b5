"""Features disturbed between encoder and decoder: whole channels of an image are left out at random."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def without_channels(maps: Sequence[Tensor], generator: torch.Generator, *, drop: float) -> list[Tensor]:
    """Maps in which each channel of each image is 0 with probability `drop`; the others grow to make up.

    Maps are (B, C, h, w), or (B, N, C) of a transformer, as everywhere here.
    """
    return [_scaled(one, (_uniform(one, generator) >= drop).float() / (1 - drop)) for one in maps]


def complementary_channels(maps: Sequence[Tensor], generator: torch.Generator) -> list[Tensor]:
    """Of two views of the same images, one after the other, each gets the channels that the other lacks.

    The first view is multiplied by M, the second by 2 - M, where M is 0 or 2 for each channel of an image;
    a random half of the images, rounded down, stay as they are. Maps with equally many channels, as all of a
    transformer's have, lack the same ones.
    """
    count = len(maps[0]) // 2
    whole = torch.randperm(count, generator=generator)[: count // 2]
    drawn: dict[int, Tensor] = {}  # channels -> (2 B, C)
    for one in maps:
        if _channels(one) not in drawn:
            factors = 2 * (_uniform(one[:count], generator) < 0.5).float()  # (B, C)
            factors[whole] = 1
            drawn[_channels(one)] = torch.cat([factors, 2 - factors])
    return [_scaled(one, drawn[_channels(one)]) for one in maps]


def _channels(one: Tensor) -> int:
    return one.shape[1 if one.ndim == 4 else 2]


def _uniform(one: Tensor, generator: torch.Generator) -> Tensor:
    """(B, C) random numbers, for the channels of a map."""
    return torch.rand(len(one), _channels(one), generator=generator)


def _scaled(one: Tensor, factors: Tensor) -> Tensor:
    factors = factors.to(one.device, one.dtype, non_blocking=True)
    return one * (factors[:, :, None, None] if one.ndim == 4 else factors[:, None])
