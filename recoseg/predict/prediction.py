"""What a network says of one image."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from recoseg.data.image_files import write_png
from recoseg.errors import UserError
from recoseg.files import whole_file
from recoseg.overlay import OPACITY, Overlay, bands
from recoseg.types import ClassInfo

IMAGE_DIGEST = "recoseg image sha256"
"""Where the header of a label file has the digest of the image."""


@dataclass(frozen=True, eq=False, repr=False)
class Prediction:
    """A class for every pixel of an image, at the image's size.

    `labels[y, x]` is an index into `classes.names` and `classes.palette`; `confidence` is the probability of
    that class, and `probabilities`, if they were asked for, those of all classes.
    """

    image: Tensor  # (3, H, W) uint8
    labels: NDArray[np.uint8]  # (H, W)
    classes: ClassInfo
    confidence: NDArray[np.float32] | None = None  # (H, W) in [0, 1]
    probabilities: NDArray[np.float32] | None = None  # (K, H, W), sum to 1 over K

    def __repr__(self) -> str:
        height, width = self.labels.shape
        seen = [self.classes.names[index] for index in np.unique(self.labels)]
        return f"<Prediction of {height} x {width} pixels: {', '.join(seen)}>"

    def _repr_png_(self) -> bytes:
        """Notebooks show it as this: the overlay with its legend, of at most a thousand pixels a side."""
        picture = self.overlay(legend=True)
        picture.thumbnail((1000, 1000))
        file = io.BytesIO()
        picture.save(file, "PNG")
        return file.getvalue()

    def overlay(
        self, *, opacity: float = OPACITY, untinted: Sequence[str] | None = None, legend: bool = False
    ) -> Image.Image:
        """The image under its classes' colours; `Overlay` says what can be chosen."""
        look = Overlay(opacity=opacity, untinted=None if untinted is None else tuple(untinted), legend=legend)
        return self.drawn(look)

    def drawn(self, look: Overlay) -> Image.Image:
        """The image under its classes' colours, in a look that is at hand."""
        return look.draw(self.image.permute(1, 2, 0).numpy(), self.labels, self.classes)

    def save(self, path: str | Path, *, image_digest: str | None = None) -> None:
        """The labels as a PNG of class indices, which viewers show in the classes' colours.

        `image_digest` goes into its header, so that others can tell of which image it is.
        """
        if Path(path).suffix.lower() != ".png":
            raise UserError(f"{path}: labels are saved as PNG; give a name that ends in .png")
        with whole_file(Path(path)) as temporary, temporary.open("wb") as file:
            text = {IMAGE_DIGEST: image_digest} if image_digest else None
            write_png(file, self.labels, palette=self.classes.palette, text=text)

    def save_confidence(self, path: str | Path) -> None:
        """A grey PNG of 16 bits, in which 65535 is certainty."""
        assert self.confidence is not None
        height, width = self.labels.shape
        values = np.empty((height, width), dtype=np.uint16)
        for rows in bands(height, width):
            values[rows] = np.rint(self.confidence[rows] * 65535)
        with whole_file(Path(path)) as temporary, temporary.open("wb") as file:
            write_png(file, values)
