"""How images of any size are shown to a network: whole where that takes little memory, else by windows."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from recoseg.evaluate.protocol import WHOLE_IMAGE, Protocol

WHOLE_PIXELS = 2.25e6  # 2048 x 1024 and 1500 x 1500 are still shown whole
LOGIT_BYTES = 256e6  # what the logits of a look may take
WINDOW = 768
OVERLAP = WHOLE_IMAGE.overlap  # as in an evaluation


@dataclass(frozen=True, kw_only=True)
class Looks:
    """The protocol for each image, by its size. A `window` that is given is used for all that are larger."""

    window: int | None = None
    overlap: float = OVERLAP
    flip: bool = False
    scales: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        self.by_window(WINDOW if self.window is None else self.window)  # refuses what makes no protocol

    def protocol(self, height: int, width: int, num_classes: int) -> Protocol:
        if self.window is not None:
            return self.by_window(self.window)
        if height * width <= self.most_pixels(num_classes):
            return self.by_window(None)
        return self.by_window(self.usual_window(num_classes))

    def by_window(self, window: int | None) -> Protocol:
        overlap = Protocol().overlap if window is None else self.overlap  # without windows it says nothing
        return Protocol(window=window, overlap=overlap, flip=self.flip, scales=self.scales)

    def most_pixels(self, num_classes: int) -> int:
        """The largest image that is shown whole; the activations of a look grow with its scale."""
        return int(min(WHOLE_PIXELS, LOGIT_BYTES / (4 * num_classes)) / max(1.0, *self.scales) ** 2)

    def usual_window(self, num_classes: int) -> int:
        """A window of `WINDOW`, smaller where there are many classes; a multiple of 32."""
        return min(WINDOW, int(sqrt(LOGIT_BYTES / 2 / (4 * num_classes))) // 32 * 32)

    def name(self, num_classes: int) -> str:
        """For a person."""
        if self.window is not None:
            return self.by_window(self.window).name
        by_window = self.by_window(self.usual_window(num_classes)).name
        return f"whole image up to {self.most_pixels(num_classes) / 1e6:.2g} megapixels, else {by_window}"
