"""A trained network as an object to call on images: whole where that takes little memory, else by windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import sqrt
from typing import overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from recoseg.data.image_files import FULL_DEPTH
from recoseg.evaluate.protocol import WHOLE_IMAGE, Protocol
from recoseg.evaluate.sliding_window import Block
from recoseg.predict.image_list import ImageLike, as_image
from recoseg.predict.output_folder import ProbabilitiesFile
from recoseg.predict.prediction import Prediction
from recoseg.types import ClassInfo

_WHOLE_PIXELS = 2.25e6  # 2048 x 1024 and 1500 x 1500 are still shown whole
LOGIT_BYTES = 256e6  # what the logits of a look may take
_WINDOW = 768
OVERLAP = WHOLE_IMAGE.overlap  # as in an evaluation


@dataclass(frozen=True, kw_only=True)
class SizeProtocol:
    """By which protocol an image is shown: whole up to a size, or by a `window` wherever it is larger."""

    window: int | None = None
    overlap: float = OVERLAP
    flip: bool = False
    scales: tuple[float, ...] = (1.0,)
    enlarge: float = 1.0  # by which the network enlarges images

    def __post_init__(self) -> None:
        self.by_window(_WINDOW if self.window is None else self.window)  # refuses what makes no protocol

    def of_size(self, height: int, width: int, num_classes: int) -> Protocol:
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
        return int(
            min(_WHOLE_PIXELS, LOGIT_BYTES / (4 * num_classes)) / (self.enlarge * max(1.0, *self.scales)) ** 2
        )

    def usual_window(self, num_classes: int) -> int:
        """A window of `_WINDOW`, smaller where there are many classes; a multiple of 32."""
        return min(_WINDOW, int(sqrt(LOGIT_BYTES / 2 / (4 * num_classes))) // 32 * 32)

    def name(self, num_classes: int) -> str:
        """For a person."""
        if self.window is not None:
            return self.by_window(self.window).name
        by_window = self.by_window(self.usual_window(num_classes)).name
        return f"whole image up to {self.most_pixels(num_classes) / 1e6:.2g} megapixels, else {by_window}"


PART_BYTES = 16e6  # logits that are looked at together

Target = NDArray[np.float32] | ProbabilitiesFile


class Predictor:
    """`predictor(image)` is a `Prediction`; of a list of images, a list of them.

    An image is a path, a PIL image, an array (H, W, 3) or (H, W), or a tensor (3, H, W), in 8 bits and of any
    size. `network` is the plain module: images in [0, 1], (B, 3, H, W) -> logits and no features.
    """

    def __init__(
        self,
        network: nn.Module,
        classes: ClassInfo,
        *,
        device: torch.device,
        protocol: SizeProtocol | None = None,
        bit_depth: int = FULL_DEPTH,
    ) -> None:
        self.network = network.to(device).eval()
        self.classes, self.device = classes, device
        self.protocol = replace(protocol or SizeProtocol(), enlarge=getattr(network, "enlarge", 1.0))
        self.bit_depth = bit_depth  # of grey images of more than 8 bits

    def __repr__(self) -> str:
        told = self.protocol.name(len(self.classes))
        return f"<Predictor of {len(self.classes)} classes on {self.device}: {told}>"

    @overload
    def __call__(self, image: ImageLike, *, probabilities: bool = False) -> Prediction: ...

    @overload
    def __call__(self, image: list[ImageLike], *, probabilities: bool = False) -> list[Prediction]: ...

    def __call__(
        self, image: ImageLike | list[ImageLike], *, probabilities: bool = False
    ) -> Prediction | list[Prediction]:
        if isinstance(image, list):
            return [self(one, probabilities=probabilities) for one in image]
        planes = as_image(image, bit_depth=self.bit_depth)
        shape = (len(self.classes), *planes.shape[1:])
        target = np.empty(shape, dtype=np.float32) if probabilities else None
        return self.predict(planes, probabilities=target)

    def predict(
        self,
        image: Tensor,
        *,
        confidence: bool = True,
        probabilities: Target | None = None,
        progress: Callable[[float], None] = lambda share: None,
    ) -> Prediction:
        """Of an image (3, H, W) uint8. Puts probabilities where they are wanted, and tells the share done."""
        height, width = image.shape[1:]
        protocol = self.protocol.of_size(height, width, len(self.classes))
        if protocol == WHOLE_IMAGE and not confidence and probabilities is None:
            return Prediction(image, self.labels(image, protocol), self.classes)
        labels = np.empty((height, width), dtype=np.uint8)
        sure = np.empty((height, width), dtype=np.float32) if confidence else None
        num_done = 0
        for part in self.parts(image, protocol):
            fill(part, labels, sure, probabilities)
            num_done += part.logits.shape[2] * part.logits.shape[3]
            del part  # its memory is wanted for the next
            progress(num_done / labels.size)
        told = probabilities if isinstance(probabilities, np.ndarray) else None
        return Prediction(image, labels, self.classes, sure, told)

    def labels(self, image: Tensor, protocol: Protocol) -> NDArray[np.uint8]:
        """(H, W); quicker than `parts`, since nobody asks for the logits at the image's size."""
        found = protocol.labels(self.network, image[None], self.device, num_classes=len(self.classes))
        labels: NDArray[np.uint8] = found[0].cpu().numpy()
        return labels

    @torch.inference_mode()
    def parts(self, image: Tensor, protocol: Protocol) -> Iterator[Block]:
        """The logits of an image in parts of a few rows, each pixel once."""
        for block in protocol.blocks(self.network, image[None], self.device, num_classes=len(self.classes)):
            step = max(1, int(PART_BYTES / (4 * block.logits.shape[1] * block.logits.shape[3])))
            for top in range(0, block.logits.shape[2], step):
                logits = block.logits[:, :, top : top + step]  # (1, K, rows, columns)
                start = block.rows.start + top
                yield Block(slice(start, start + logits.shape[2]), block.columns, logits)
            del block, logits  # their memory is wanted for the next


def fill(
    part: Block, labels: NDArray[np.uint8], sure: NDArray[np.float32] | None, probabilities: Target | None
) -> None:
    """Put what the logits of a part say into the maps of the whole image."""
    place, logits = (part.rows, part.columns), part.logits[0]  # (K, h, w)
    best, index = logits.max(0)
    labels[place] = index.to(torch.uint8).cpu().numpy()
    if sure is not None:
        sure[place] = (best - logits.logsumexp(0)).exp().cpu().numpy()
    if probabilities is not None:
        probabilities[(slice(None), *place)] = logits.softmax(0).cpu().numpy()
