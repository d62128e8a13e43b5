"""From the painted scene to a photograph: an uneven exposure, a soft lens, a noisy sensor, 8 bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recoseg.data.scenes.colours import Colour
from recoseg.data.scenes.dice import Dice
from recoseg.data.scenes.light import Floats, as_planes


def photograph(scene: Floats, dice: Dice, sensor: Dice) -> NDArray[np.uint8]:
    """`scene` (3, H, W), 0 to 255, as uint8; what is drawn for each pixel comes from `sensor`."""
    exposed = _exposed(scene, dice)
    softness = dice.between(0.0, 1.0)
    exposed += (_blurred(exposed) - exposed) * softness
    strength = dice.between(1.0, 7.0)
    noise = sensor.bytes(2, *exposed.shape).astype(np.int16)  # the sum of two is bell-shaped enough
    exposed += (noise[0] + noise[1] - 255).astype(np.float32) * (strength / 104.0)  # 104: its deviation
    rounded: NDArray[np.uint8] = (exposed + 0.5).clip(0.0, 255.0).astype(np.uint8)
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
