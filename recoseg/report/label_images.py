"""Pictures as data URIs: photographs as JPEG, label maps as palette PNG, none longer than a page can use."""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from recoseg.colours import confidence_colours, is_background
from recoseg.types import IGNORE, ClassInfo

_LONGEST = 768
_JPEG_QUALITY = 85
_WRONG_COLOUR = (230, 0, 60)

_LONGEST_CONFIDENCE = 384

_DIFFERENCE_COLOURS = ((0, 0, 0), (70, 150, 255), (240, 140, 0), (235, 228, 180))
"""Of no difference (transparent), BETTER, WORSE, BOTH_WRONG. page.css has them too."""


def photo_uri(image: Tensor) -> str:
    """(3, H, W) uint8 as a JPEG."""
    picture = Image.fromarray(image.permute(1, 2, 0).contiguous().numpy())
    return data_uri(_scaled(picture, Image.Resampling.LANCZOS), "JPEG", quality=_JPEG_QUALITY, optimize=True)


def label_map_uri(labels: Tensor, classes: ClassInfo) -> str:
    """(H, W) uint8 in the classes' colours; whatever is not a class is transparent.

    Background is opaque but for 1 in 255, by which page.html's filter `untinted` knows it.
    """
    indices = np.minimum(labels.numpy(), len(classes)).astype(
        np.uint8
    )  # void next to the classes: fewer bits
    colours = [*classes.palette, (0, 0, 0)]
    alphas = [254 if is_background(name) else 255 for name in classes.names]
    return _palette_uri(indices, colours, bytes([*alphas, 0]))


def error_map_uri(truth: Tensor, prediction: Tensor) -> str:
    """Wrong pixels in one strong colour, the rest, void included, transparent."""
    wrong = _wrong_pixels(truth, prediction).astype(np.uint8)
    return _palette_uri(wrong, [(0, 0, 0), _WRONG_COLOUR], b"\0")


def confidence_uri(confidence: Tensor) -> str:
    """(H, W) uint8 from dark (0) to bright (255); half the size of the others, since it is smooth."""
    smaller = _scaled(Image.fromarray(confidence.numpy()), Image.Resampling.BOX, _LONGEST_CONFIDENCE)
    picture = Image.fromarray(confidence_colours()[np.asarray(smaller)])
    return data_uri(picture, "JPEG", quality=_JPEG_QUALITY, optimize=True)


def difference_map_uri(difference: Tensor) -> str:
    """A map of `difference` in its colours; where the runs agree it is transparent."""
    return _palette_uri(difference.numpy(), list(_DIFFERENCE_COLOURS), b"\0")


def _wrong_pixels(truth: Tensor, prediction: Tensor) -> NDArray[np.bool_]:
    wrong: NDArray[np.bool_] = ((truth != prediction) & (truth != IGNORE)).numpy()
    return wrong


def share_right(truth: Tensor, prediction: Tensor) -> float | None:
    """Of the pixels that have a label; None if there are none."""
    num_known = int((truth != IGNORE).sum())
    return 1 - int(_wrong_pixels(truth, prediction).sum()) / num_known if num_known else None


def size_on_page(height: int, width: int, longest: int = _LONGEST) -> tuple[int, int]:
    """(width, height) on the page."""
    factor = min(1.0, longest / max(height, width))
    return max(1, round(width * factor)), max(1, round(height * factor))


def _palette_uri(indices: NDArray[np.uint8], colours: list[tuple[int, int, int]], alphas: bytes) -> str:
    """`alphas` of the first colours; the others are opaque."""
    picture = Image.fromarray(indices).convert("P")
    picture.putpalette([value for colour in colours for value in colour])
    return data_uri(_scaled(picture, Image.Resampling.NEAREST), "PNG", transparency=alphas, optimize=True)


def _scaled(picture: Image.Image, resampling: Image.Resampling, longest: int = _LONGEST) -> Image.Image:
    size = size_on_page(picture.height, picture.width, longest)
    return picture if size == picture.size else picture.resize(size, resampling)


def data_uri(picture: Image.Image, kind: str, **settings: int | bytes) -> str:
    buffer = BytesIO()
    picture.save(buffer, kind, **settings)
    return f"data:image/{kind.lower()};base64,{b64encode(buffer.getvalue()).decode()}"
