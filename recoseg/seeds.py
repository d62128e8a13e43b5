"""Randomness as a function of place: a generator for (seed, purpose, step, ...), never a shared state.

Because step 5000 draws the same numbers whether or not steps 0 to 4999 ran in this process, a resumed run
continues exactly, and the number of loading processes changes nothing.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


def seed_for(seed: int, purpose: str, *place: int) -> int:
    """A 63-bit seed for one purpose at one place; other purposes and places are independent of it."""
    # The number of places counts as well: SeedSequence takes [5] and [5, 0] for the same.
    entropy = [seed, zlib.crc32(purpose.encode()), len(place), *place]
    high, low = np.random.SeedSequence(entropy).generate_state(2, np.uint32)
    return (int(high) << 31) ^ int(low)


def numpy_generator(seed: int, purpose: str, *place: int) -> np.random.Generator:
    return np.random.default_rng(seed_for(seed, purpose, *place))


def torch_generator(seed: int, purpose: str, *place: int) -> torch.Generator:
    import torch

    return torch.Generator().manual_seed(seed_for(seed, purpose, *place))


def generator_on(device: torch.device, generator: torch.Generator) -> torch.Generator:
    """A generator on that device, for many numbers, begun by one number of `generator`, a CPU one."""
    import torch

    seed = torch.randint(2**62, (), generator=generator)
    return torch.Generator(device).manual_seed(int(seed))


def permutation(count: int, seed: int, purpose: str, *place: int) -> list[int]:
    """0 to count - 1 in a random order that no version of NumPy changes: it rests on raw random bits only."""
    bits = np.random.PCG64(seed_for(seed, purpose, *place)).random_raw(count)
    order: list[int] = np.argsort(bits, kind="stable").tolist()
    return order
