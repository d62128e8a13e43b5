"""The dataset `scenes`: as many labelled street scenes as one asks for, drawn when they are asked for.

The same numbers give the same bytes on every machine: random choices come from raw PCG64 bits, and
pixels only go through operations that IEEE 754 rounds exactly (+ - * / and square root, one at a
time), comparisons and table look-ups: no exp, pow or sin, no matrix product, no sum over pixels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recoseg.data.dataset import SUBSETS, Dataset
from recoseg.data.scenes.background import paint_fronts, paint_ground, paint_sky, paint_skyline
from recoseg.data.scenes.dice import Dice
from recoseg.data.scenes.paint import PAINT, Colour, Floats, as_planes, varied
from recoseg.data.scenes.stage import CLASSES, COARSE_CLASSES, COARSE_OF_LABEL, Camera, Canvas, Light, Stage
from recoseg.data.scenes.street import Street, furnish
from recoseg.errors import UserError
from recoseg.types import IGNORE

if TYPE_CHECKING:
    from torch import Tensor

_Bytes = NDArray[np.uint8]

_SMALLEST = 16  # pixels
_LARGEST_SEED = 2**32 - 1  # a larger one would take two words and could meet the stream of another subset


@lru_cache(maxsize=4)
def _drawing(seed: int, subset: int, index: int, height: int, width: int) -> tuple[_Bytes, _Bytes]:
    """An image and its labels; the last few are kept because both are asked for one after the other."""
    return draw_scene(seed, subset, index, height=height, width=width)


class Scenes(Dataset):
    """Street scenes of any size and number; what a key shows depends on the seed and on nothing else."""

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
        for side, pixels in (("height", height), ("width", width)):
            if pixels < _SMALLEST:
                raise UserError(f"scenes: {side} is {pixels}; it must be at least {_SMALLEST} pixels")
        counts = dict(zip(SUBSETS, (num_train, num_val, num_test), strict=True))
        for subset, count in counts.items():
            if count < 0:
                raise UserError(f"scenes: num_{subset} is {count}; it must be 0 or more")
        if not 0 <= seed <= _LARGEST_SEED:
            raise UserError(f"scenes: seed is {seed}; it must be from 0 to {_LARGEST_SEED}")
        self.height, self.width, self.seed = height, width, seed
        self.coarse, self.classes = coarse, COARSE_CLASSES if coarse else CLASSES
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
        import torch

        image, _ = _drawing(self.seed, *self._place(key), self.height, self.width)
        return torch.from_numpy(image.copy())  # a copy: the caller may write to it

    def labels(self, key: str) -> Tensor:
        import torch

        _, labels = _drawing(self.seed, *self._place(key), self.height, self.width)
        return torch.from_numpy(COARSE_OF_LABEL[labels] if self.coarse else labels.copy())

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


# One scene, painted from far to near


def draw_scene(*entropy: int, height: int, width: int) -> tuple[_Bytes, _Bytes]:
    """The image (3, H, W) and labels (H, W); at another size the same street from the same place."""
    dice = Dice(*entropy)
    stage = Stage(Canvas(height, width), Camera.placed(dice, height, width), Light.drawn(dice))
    street = Street.drawn(dice, stage.light.lit_windows)
    paint_sky(stage, dice.split())
    paint_skyline(stage, dice.split())
    paint_ground(stage, street, dice.split())
    paint_fronts(stage, street, dice.split())
    for thing in furnish(street, dice.split()):
        thing.paint(stage, thing.spot, thing.dice)
    if dice.chance(0.3):
        _paint_bonnet(stage, dice.split())
    return _photograph(stage.canvas.image, dice.split(), dice.split()), stage.canvas.labels


def _paint_bonnet(stage: Stage, dice: Dice) -> None:
    """The front of the car that carries the camera, at the lower border: void."""
    canvas = stage.canvas
    rise, middle = canvas.height * dice.between(0.04, 0.1), canvas.width * dice.between(0.4, 0.6)
    aside = (canvas.columns - middle) / canvas.width  # (1, W)
    edge = canvas.height - rise * (1.0 - 2.5 * aside * aside)
    cover = (canvas.rows - edge).clip(0.0, 1.0)
    paint: Colour = stage.light.on(varied(dice, dice.choice(PAINT)), 1.0, 0.8)
    shine = 0.75 + 0.5 * (1.0 - (canvas.rows - edge) / rise).clip(0.0, 1.0)
    box = (slice(0, canvas.height), slice(0, canvas.width))
    canvas.blend(box, as_planes(paint) * shine, cover)
    canvas.mark(box, IGNORE, cover)


# From the painted scene to a photograph: an uneven exposure, a soft lens, a noisy sensor, 8 bits


def _photograph(scene: Floats, dice: Dice, sensor: Dice) -> _Bytes:
    """`scene` (3, H, W), 0 to 255, as uint8; what is drawn for each pixel comes from `sensor`."""
    exposed = _exposed(scene, dice)
    softness = dice.between(0.0, 1.0)
    exposed += (_blurred(exposed) - exposed) * softness
    strength = dice.between(1.0, 7.0)
    noise = sensor.bytes(2, *exposed.shape).astype(np.int16)  # the sum of two is bell-shaped enough
    exposed += (noise[0] + noise[1] - 255).astype(np.float32) * (strength / 104.0)  # 104: its deviation
    rounded: _Bytes = (exposed + 0.5).clip(0.0, 255.0).astype(np.uint8)
    return rounded


def _exposed(scene: Floats, dice: Dice) -> Floats:
    """Contrast, brightness, and a cast of colour that changes across the picture."""
    contrast, brightness = dice.between(0.75, 1.15), dice.between(-14.0, 14.0)
    height, width = scene.shape[1:]
    down = np.arange(height, dtype=np.float32)[:, None] / height - 0.5
    right = np.arange(width, dtype=np.float32)[None, :] / width - 0.5
    slope = down * dice.between(-0.2, 0.2) + right * dice.between(-0.2, 0.2)
    corners = (down * down + right * right) * dice.between(0.0, 0.5)
    cast: Colour = (dice.between(0.93, 1.07), dice.between(0.95, 1.05), dice.between(0.93, 1.07))
    level: Floats = (scene - 120.0) * contrast + (120.0 + brightness)
    level *= 1.0 + slope - corners
    level *= as_planes(cast)
    return level


def _blurred(image: Floats) -> Floats:
    """Each pixel with a quarter of its neighbours on both sides, first down, then across."""
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1)), mode="edge")
    down = (padded[:, :-2] + padded[:, 2:]) * 0.25 + padded[:, 1:-1] * 0.5
    return (down[:, :, :-2] + down[:, :, 2:]) * 0.25 + down[:, :, 1:-1] * 0.5
