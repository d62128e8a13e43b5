"""The thumbnail of a prediction: image, overlay and confidence side by side, for a gallery of thousands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from recoseg.colours import confidence_colours
from recoseg.errors import UserError
from recoseg.files import whole_file
from recoseg.overlay import Overlay
from recoseg.predict.prediction import Prediction

LONGEST = 320
"""Pixels of a panel's longer side."""
_PANELS = 3
_JPEG_QUALITY = 80


@dataclass(frozen=True)
class Thumbnail:
    """What its file tells: the size of one of its panels, and the mean confidence of the network."""

    width: int
    height: int
    confidence: float

    @classmethod
    def read(cls, path: Path) -> Thumbnail:
        """The picture itself is left alone."""
        try:
            with Image.open(path, formats=["JPEG"]) as strip:
                confidence = float(strip.info["comment"])
                if not 0 <= confidence <= 1:
                    raise ValueError
                return cls(strip.width // _PANELS, strip.height, confidence)
        except (OSError, KeyError, ValueError, SyntaxError) as error:
            raise UserError(f"{path}: not a thumbnail of recoseg; --force makes it again") from error


def write_thumbnail(path: Path, prediction: Prediction, look: Overlay) -> None:
    """The mean confidence goes into the file as its comment: a gallery can be made of the files alone."""
    assert prediction.confidence is not None
    height, width = prediction.labels.shape
    shrink = min(1.0, LONGEST / max(height, width))
    size = max(1, round(width * shrink)), max(1, round(height * shrink))
    # A few pixels of those that a small one stands for are enough, and take no memory of the image's size.
    every = slice(None, None, max(1, int(max(height, width) / (4 * LONGEST))))
    planes = prediction.image[:, every, every].permute(1, 2, 0).contiguous().numpy()
    image = Image.fromarray(planes).resize(size, Image.Resampling.LANCZOS)
    labels = Image.fromarray(prediction.labels[every, every]).resize(size, Image.Resampling.NEAREST)
    sure = np.rint(prediction.confidence[every, every] * 255).astype(np.uint8)
    confidence = np.asarray(Image.fromarray(sure).resize(size, Image.Resampling.BOX))
    overlay = replace(look, legend=False).draw(np.asarray(image), np.asarray(labels), prediction.classes)
    strip = Image.new("RGB", (_PANELS * size[0], size[1]))
    for number, panel in enumerate((image, overlay, Image.fromarray(confidence_colours()[confidence]))):
        strip.paste(panel, (number * size[0], 0))
    mean = float(prediction.confidence.mean(dtype=np.float64))
    file = BytesIO()
    strip.save(file, "JPEG", quality=_JPEG_QUALITY, comment=f"{min(mean, 1.0):.6f}".encode())
    with whole_file(path) as temporary:
        temporary.write_bytes(file.getvalue())
