"""A few cells of every image: candidates for clicks, the shares of classes, the spread of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from recoseg.label.features import FeatureMaps
from recoseg.seeds import numpy_generator

MOST_CELLS = 20_000
_CELLS_PER_IMAGE = 200


class CandidatePool:
    """Cells of images, spread over each: one at random in every square of a grid."""

    def __init__(self, *, seed: int = 0, cells_per_image: int = _CELLS_PER_IMAGE) -> None:
        self.seed, self.cells_per_image = seed, cells_per_image
        self.keys: list[str] = []
        self._features: list[Tensor] = []  # (n, C) float16 an image
        self._places: list[NDArray[np.float64]] = []  # (n, 2) x and y in (0, 1)
        self._spread: tuple[Tensor, Tensor] | None = None

    @property
    def is_full(self) -> bool:
        return sum(map(len, self._places)) >= MOST_CELLS

    def add(self, key: str, maps: FeatureMaps) -> None:
        cells = spread_cells(maps.shape, self.cells_per_image, seed=self.seed, place=len(self.keys))
        places = maps.places_of(cells)
        self.keys.append(key)
        self._features.append(maps.at(*places).half())
        self._places.append(np.stack(places, axis=1))
        self._spread = None

    @property
    def features(self) -> Tensor:
        """(N, C) float16."""
        if len(self._features) > 1:
            self._features = [torch.cat(self._features)]
        return self._features[0]

    @property
    def spread(self) -> tuple[Tensor, Tensor]:
        """(C,) the mean of all cells, and their standard deviation."""
        if self._spread is None:
            some = self.features[:: max(1, len(self.features) // 10_000)].float()
            self._spread = some.mean(0), some.std(0).clamp(min=1e-3)
        return self._spread

    @property
    def images(self) -> NDArray[np.int64]:
        """(N,) the number, in `keys`, of each cell's image."""
        return np.repeat(np.arange(len(self.keys)), [len(places) for places in self._places])

    @property
    def places(self) -> NDArray[np.float64]:
        """(N, 2) x and y in (0, 1)."""
        return np.concatenate(self._places)

    def places_of(self, image: int) -> NDArray[np.float64]:
        """(n, 2) those of the image of that number."""
        return self._places[image]

    def near(self, marked: Mapping[str, Sequence[tuple[float, float]]], radius: float) -> NDArray[np.bool_]:
        """(N,) whether a cell is within `radius`, a share of each side, of a marked place of its image."""
        result = []
        for key, places in zip(self.keys, self._places, strict=True):
            others = np.array(marked.get(key, ()), dtype=np.float64).reshape(-1, 2)
            gaps = np.abs(places[:, None] - others[None]).max(2)  # (n, m)
            result.append((gaps < radius).any(1))
        return np.concatenate(result) if result else np.zeros(0, dtype=bool)


def spread_cells(shape: tuple[int, int], count: int, *, seed: int, place: int) -> NDArray[np.int64]:
    """About `count` cells of a map, one in every square of a grid, at a random place in it; each once."""
    height, width = shape
    side = max(1.0, (height * width / count) ** 0.5)
    rows, columns = max(1, round(height / side)), max(1, round(width / side))
    random = numpy_generator(seed, "spread cells", place).random((2, rows, columns))
    y = (np.arange(rows)[:, None] + random[0]) / rows * height
    x = (np.arange(columns) + random[1]) / columns * width
    return np.unique(y.astype(np.int64) * width + x.astype(np.int64))
