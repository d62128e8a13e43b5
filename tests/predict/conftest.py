"""A network that a person can follow: the class of a pixel is its brightest channel."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor, nn

from recoseg.predict.predictor import Predictor, SizeProtocol
from recoseg.types import ClassInfo, ModelOutput


class Brightest(nn.Module):
    """Logits are ten times the channels, pixel by pixel: no window can change them."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[tuple[int, int]] = []  # of all that it was shown

    def forward(self, images: Tensor) -> ModelOutput:
        self.sizes.append((images.shape[2], images.shape[3]))
        return ModelOutput(10 * images)


@pytest.fixture(scope="session")
def colours() -> ClassInfo:
    return ClassInfo(("red", "green", "blue"), ((200, 0, 0), (0, 100, 0), (0, 0, 50)))


@pytest.fixture
def brightest(colours) -> Callable[..., Predictor]:
    def predictor(**looks: object) -> Predictor:
        return Predictor(Brightest(), colours, device=torch.device("cpu"), protocol=SizeProtocol(**looks))

    return predictor


@pytest.fixture
def noise() -> Callable[..., np.ndarray]:
    def image(height: int, width: int, seed: int = 0) -> np.ndarray:
        return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)

    return image


@pytest.fixture
def photo(tmp_path, noise) -> Callable[..., Path]:
    """`photo("a/b.png", 4, 6)` is a file of noise, lossless."""

    def write(name: str, height: int = 4, width: int = 6) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(noise(height, width)).save(path)
        return path

    return write
