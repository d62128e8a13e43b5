"""Whatever a person calls an image -> (3, H, W) uint8."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from recoseg.data.image_files import read_image, rgb_planes
from recoseg.errors import UserError

ImageLike = str | Path | Image.Image | NDArray[Any] | Tensor

MOST_PIXELS = 10**9
"""Pillow warns of files beyond 89 megapixels, which might be made to fill the memory, and refuses twice that.

Here large images are expected, and whoever names a file wants it read: a gigapixel takes 7 GB.
"""

SHAPES = "needs (H, W, 3) or (H, W) in an array, (3, H, W) or (H, W) in a tensor"


def as_image(given: ImageLike) -> Tensor:
    """RGB as (3, H, W) uint8. A file is turned upright; what is already decoded is taken as it lies."""
    if isinstance(given, str | Path):
        with large_images_allowed():
            return read_image(Path(given))
    if isinstance(given, Image.Image):
        planes = rgb_planes(given, "the image")
    elif isinstance(given, np.ndarray):
        planes = from_array(given)
    elif isinstance(given, Tensor):
        planes = from_tensor(given)
    else:
        raise UserError(f"an image is a path, a PIL image, an array or a tensor; got {type(given).__name__}")
    if not planes.numel():
        raise UserError(f"the image has no pixels: its shape is {tuple(planes.shape)}")
    return planes


def from_array(array: NDArray[Any]) -> Tensor:
    require_bytes(array.dtype == np.uint8, str(array.dtype))
    if array.ndim == 2:
        array = array[..., None].repeat(3, axis=2)
    if array.ndim != 3 or array.shape[2] != 3:
        raise UserError(
            f"an image of shape {array.shape}; {SHAPES}{advice(array.shape, 'transpose(1, 2, 0)')}"
        )
    return torch.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1)))


def from_tensor(tensor: Tensor) -> Tensor:
    require_bytes(tensor.dtype == torch.uint8, str(tensor.dtype))
    if tensor.ndim == 2:
        tensor = tensor.expand(3, -1, -1)
    if tensor.ndim != 3 or tensor.shape[0] != 3:
        shape = tuple(tensor.shape)
        raise UserError(f"an image of shape {shape}; {SHAPES}{advice(shape, 'permute(2, 0, 1)')}")
    return tensor.detach().cpu().contiguous()


def require_bytes(is_bytes: bool, kind: str) -> None:
    if is_bytes:
        return
    to_do = (
        "of values in 0-1, give (image * 255).round() as uint8" if "float" in kind else "bring it to 8 bits"
    )
    raise UserError(f"an image of {kind}; needs uint8, 0 to 255: {to_do}")


def advice(shape: tuple[int, ...], turned: str) -> str:
    """What to do about some frequent mistakes."""
    if len(shape) == 4:
        return "; give several images as a list"
    if len(shape) != 3:
        return ""
    if 3 in (shape[0], shape[2]):
        return f"; the channels are elsewhere: image.{turned}"
    return "; leave out the fourth channel" if 4 in (shape[0], shape[2]) else ""


@contextmanager
def large_images_allowed() -> Iterator[None]:
    """Within it, Pillow reads files of up to `MOST_PIXELS` without a word, and none that are larger."""
    before, Image.MAX_IMAGE_PIXELS = (
        Image.MAX_IMAGE_PIXELS,
        MOST_PIXELS // 2,
    )  # Pillow refuses twice its limit
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            yield
    finally:
        Image.MAX_IMAGE_PIXELS = before
