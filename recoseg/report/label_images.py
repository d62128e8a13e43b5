"""Pictures as data URIs: photographs as JPEG, label maps as palette PNG, none longer than a page can use."""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from recoseg.types import IGNORE, ClassInfo

LONGEST = 768
JPEG_QUALITY = 85
WRONG_COLOUR = (230, 0, 60)


def photo_uri(image: Tensor) -> str:
    """(3, H, W) uint8 as a JPEG."""
    picture = Image.fromarray(image.permute(1, 2, 0).contiguous().numpy())
    return data_uri(scaled(picture, Image.Resampling.LANCZOS), "JPEG", quality=JPEG_QUALITY, optimize=True)


def label_map_uri(labels: Tensor, classes: ClassInfo) -> str:
    """(H, W) uint8 in the classes' colours; whatever is not a class is transparent."""
    indices = np.minimum(labels.numpy(), len(classes)).astype(
        np.uint8
    )  # void next to the classes: fewer bits
    colours = [*classes.palette, (0, 0, 0)]
    return palette_uri(indices, colours, transparent=len(classes))


def error_map_uri(truth: Tensor, prediction: Tensor) -> str:
    """Wrong pixels in one strong colour, the rest, void included, transparent."""
    return palette_uri(
        wrong_pixels(truth, prediction).astype(np.uint8), [(0, 0, 0), WRONG_COLOUR], transparent=0
    )


def wrong_pixels(truth: Tensor, prediction: Tensor) -> NDArray[np.bool_]:
    wrong: NDArray[np.bool_] = ((truth != prediction) & (truth != IGNORE)).numpy()
    return wrong


def share_right(truth: Tensor, prediction: Tensor) -> float | None:
    """Of the pixels that have a label; None if there are none."""
    num_known = int((truth != IGNORE).sum())
    return 1 - int(wrong_pixels(truth, prediction).sum()) / num_known if num_known else None


def shown_size(height: int, width: int) -> tuple[int, int]:
    """(width, height) on the page."""
    factor = min(1.0, LONGEST / max(height, width))
    return max(1, round(width * factor)), max(1, round(height * factor))


def palette_uri(indices: NDArray[np.uint8], colours: list[tuple[int, int, int]], *, transparent: int) -> str:
    picture = Image.fromarray(indices).convert("P")
    picture.putpalette([value for colour in colours for value in colour])
    return data_uri(scaled(picture, Image.Resampling.NEAREST), "PNG", transparency=transparent, optimize=True)


def scaled(picture: Image.Image, resampling: Image.Resampling) -> Image.Image:
    size = shown_size(picture.height, picture.width)
    return picture if size == picture.size else picture.resize(size, resampling)


def data_uri(picture: Image.Image, kind: str, **settings: int) -> str:
    buffer = BytesIO()
    picture.save(buffer, kind, **settings)
    return f"data:image/{kind.lower()};base64,{b64encode(buffer.getvalue()).decode()}"
