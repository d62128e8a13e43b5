"""The dataset `scenes`: any number of labelled street scenes, each drawn when it is needed.

The same numbers give the same bytes on every machine: pixels only go through operations that IEEE 754 rounds
exactly (+ - * / and square root, one at a time), comparisons and table look-ups, and never through sums.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recoseg.data.dataset import SUBSETS, Dataset
from recoseg.data.scenes.backdrop import paint_ground, paint_sky
from recoseg.data.scenes.canvas import Canvas
from recoseg.data.scenes.classes import CLASSES, COARSE_CLASSES, COARSE_OF_LABEL
from recoseg.data.scenes.random_draws import Floats, RandomDraws, as_planes, draw_colour
from recoseg.data.scenes.street import Side, furnish
from recoseg.data.scenes.things import Spot, paint_thing
from recoseg.errors import UserError
from recoseg.types import IGNORE

if TYPE_CHECKING:
    from torch import Tensor

_DRAWING = 2  # changes with the code that draws: splits of other drawings do not fit
_LARGEST_SEED = 2**32 - 1  # a larger one would take two words and could meet the stream of another subset


class Scenes(Dataset):
    """Street scenes of any size and number. A scene depends on seed and key alone."""

    name, short_name, title = "scenes", "scenes", "drawn scenes"
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
        coarse: bool = False,
    ) -> None:
        counts = dict(zip(SUBSETS, (num_train, num_val, num_test), strict=True))
        sizes = [("height", height, 16), ("width", width, 16)]
        for setting, value, least in (*sizes, *((f"num_{subset}", counts[subset], 0) for subset in SUBSETS)):
            if value < least:
                raise UserError(f"scenes: {setting} is {value}; it must be at least {least}")
        if not 0 <= seed <= _LARGEST_SEED:
            raise UserError(f"scenes: seed is {seed}; it must be from 0 to {_LARGEST_SEED}")
        self.height, self.width, self.seed = height, width, seed
        self.coarse, self.classes = coarse, COARSE_CLASSES if coarse else CLASSES
        self._keys = {subset: tuple(f"{subset}/{i:05d}" for i in range(n)) for subset, n in counts.items()}
        subsets = enumerate(self._keys.values())
        self._places = {key: (subset, i) for subset, keys in subsets for i, key in enumerate(keys)}

    def keys(self, subset: str) -> Sequence[str]:
        if subset not in self._keys:
            raise UserError(f"scenes has no subset {subset!r}; it has {', '.join(SUBSETS)}")
        return self._keys[subset]

    def has_labels(self, key: str) -> bool:
        self._place(key)
        return True

    def image(self, key: str) -> Tensor:
        import torch

        image, _ = draw_scene(self.seed, *self._place(key), height=self.height, width=self.width)
        return torch.from_numpy(image.copy())  # a copy: the caller may write to it

    def labels(self, key: str) -> Tensor:
        import torch

        _, labels = draw_scene(self.seed, *self._place(key), height=self.height, width=self.width)
        return torch.from_numpy(COARSE_OF_LABEL[labels] if self.coarse else labels.copy())

    def fingerprint(self) -> str:
        """Return a mark of keys and classes, and of the seed and size that decide what the images are."""
        parts = f"{super().fingerprint()} {_DRAWING} {self.seed} {self.height}x{self.width}"
        return hashlib.sha256(parts.encode()).hexdigest()[:16]

    def _place(self, key: str) -> tuple[int, int]:
        """Return the number of the subset, and of the image in it."""
        if key not in self._places:
            some = next(iter(self._places), "none: it is empty")
            raise UserError(f"scenes has no image {key!r}; {len(self._places)} keys, the first is {some}")
        return self._places[key]


@lru_cache(maxsize=4)  # image and labels of a scene are both needed, one after the other
def draw_scene(*entropy: int, height: int, width: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the image (3, H, W) and labels (H, W); at another size it is the same street."""
    draws = RandomDraws(*entropy)
    canvas, built_up = Canvas(height, width, draws), draws.between(0.15, 0.9)
    left, right = (Side.draw(sign, built_up, draws) for sign in (-1, 1))
    paint_sky(canvas, draws)
    paint_ground(canvas, (-left.kerb, right.kerb), (-left.front, right.front), draws)
    for side in (left, right):
        side.paint(canvas, draws)
    for thing in furnish(left, right, draws):
        paint_thing(canvas, *thing)
    if draws.between(0.0, 1.0) < 0.3:
        # the bonnet of the car that carries the camera is void
        up = canvas.eye - (height * 0.94 - canvas.horizon) * 1.2 / canvas.focal
        bonnet = Spot(draws.between(-0.2, 0.2), 1.2, (0.0, 1.0)).level(up, -0.7, 0.0, 1.6)
        canvas.polygon(bonnet, draw_colour(draws, "lacquer"), IGNORE)
    return _photograph(canvas.image, draws), canvas.labels


def _photograph(scene: Floats, draws: RandomDraws) -> NDArray[np.uint8]:
    """Return `scene` as uint8: exposed, with a cast of colour, a soft lens and a noisy sensor."""
    cast = as_planes((draws.between(0.92, 1.08), draws.between(0.94, 1.06), draws.between(0.92, 1.08)))
    contrast, brightness = draws.between(0.75, 1.15), draws.between(106.0, 134.0)
    exposed: Floats = ((scene - 120.0) * contrast + brightness) * cast
    padded = np.pad(exposed, ((0, 0), (1, 1), (1, 1)), mode="edge")
    down = (padded[:, :-2] + padded[:, 2:]) * 0.25 + padded[:, 1:-1] * 0.5
    blurred = (down[:, :, :-2] + down[:, :, 2:]) * 0.25 + down[:, :, 1:-1] * 0.5
    exposed += (blurred - exposed) * draws.between(0.0, 1.0)
    noise = draws.bytes(exposed.size).reshape(exposed.shape).astype(np.float32) - 127.5
    exposed += noise * draws.between(0.01, 0.1)
    return np.asarray((exposed + 0.5).clip(0.0, 255.0).astype(np.uint8))
