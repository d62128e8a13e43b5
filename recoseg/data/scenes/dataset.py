"""The dataset `scenes`: as many labelled street scenes as one asks for, drawn when they are asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import Tensor

from recoseg.data.base import SUBSETS, Dataset
from recoseg.data.scenes.classes import CLASSES
from recoseg.data.scenes.scene import Bytes, draw_scene
from recoseg.errors import UserError

SMALLEST = 16  # pixels
LARGEST_SEED = 2**32 - 1  # a larger one would take two words and could meet the stream of another subset


@lru_cache(maxsize=4)
def _drawing(seed: int, subset: int, index: int, height: int, width: int) -> tuple[Bytes, Bytes]:
    """An image and its labels; the last few are kept because both are asked for one after the other."""
    return draw_scene(seed, subset, index, height=height, width=width)


class Scenes(Dataset):
    """Street scenes of any size and number; what a key shows depends on the seed and on nothing else."""

    name = "scenes"
    classes = CLASSES

    def __init__(
        self,
        *,
        height: int = 128,
        width: int = 256,
        num_train: int = 256,
        num_val: int = 64,
        num_test: int = 0,
        seed: int = 0,
    ) -> None:
        for side, pixels in (("height", height), ("width", width)):
            if pixels < SMALLEST:
                raise UserError(f"scenes: {side} is {pixels}; it must be at least {SMALLEST} pixels")
        counts = dict(zip(SUBSETS, (num_train, num_val, num_test), strict=True))
        for subset, count in counts.items():
            if count < 0:
                raise UserError(f"scenes: num_{subset} is {count}; it must be 0 or more")
        if not 0 <= seed <= LARGEST_SEED:
            raise UserError(f"scenes: seed is {seed}; it must be from 0 to {LARGEST_SEED}")
        self.height, self.width, self.seed = height, width, seed
        self._keys = {
            subset: tuple(f"{subset}/{index:05d}" for index in range(count))
            for subset, count in counts.items()
        }
        self._places = {
            key: (SUBSETS.index(subset), index)
            for subset, keys in self._keys.items()
            for index, key in enumerate(keys)
        }

    def keys(self, subset: str) -> Sequence[str]:
        if subset not in self._keys:
            raise UserError(f"scenes has no subset {subset!r}; it has {', '.join(SUBSETS)}")
        return self._keys[subset]

    def has_labels(self, key: str) -> bool:
        self._place(key)
        return True

    def image(self, key: str) -> Tensor:
        image, _ = _drawing(self.seed, *self._place(key), self.height, self.width)
        return torch.from_numpy(image.copy())  # a copy: the caller may write to it

    def labels(self, key: str) -> Tensor:
        _, labels = _drawing(self.seed, *self._place(key), self.height, self.width)
        return torch.from_numpy(labels.copy())

    def fingerprint(self) -> str:
        """Other than keys and classes, also the seed and size decide what the images are."""
        parts = f"{super().fingerprint()} {self.seed} {self.height}x{self.width}"
        return hashlib.sha256(parts.encode()).hexdigest()[:16]

    def _place(self, key: str) -> tuple[int, int]:
        """The number of the subset, and of the image in it."""
        if key not in self._places:
            some = next(iter(self._places), "none: it is empty")
            raise UserError(f"scenes has no image {key!r}; {len(self._places)} keys, the first is {some}")
        return self._places[key]
