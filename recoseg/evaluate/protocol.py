"""How an image is shown to a network: whole or through windows, once or also flipped and at other sizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from recoseg.errors import UserError
from recoseg.evaluate.enlarged import enlarged_argmax
from recoseg.evaluate.windows import Block, blended
from recoseg.models.layers import resize

SMALLEST_SIDE = 32  # the largest stride that our encoders have
LARGEST_SCALE, MOST_SCALES = 16, 32
BAND_BYTES = 256e6  # what the blended logits of a row of windows may take


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """The same for all images that are compared; results name it.

    `window` None shows the whole image at once; else neighbouring windows share at least `overlap` of their
    length, and where they do, their logits are blended. Each look may be repeated flipped and at other
    `scales`; the probabilities are then averaged.
    """

    window: int | None = None
    overlap: float = 0.25
    flip: bool = False
    scales: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        if self.window is not None and self.window < SMALLEST_SIDE:
            raise UserError(f"window: got {self.window}, needs at least {SMALLEST_SIDE} pixels")
        if not 0 <= self.overlap < 1:
            raise UserError(f"overlap: got {self.overlap:g}, needs a share of the window from 0 to below 1")
        if not self.scales or not all(0 < scale <= LARGEST_SCALE for scale in self.scales):
            raise UserError(
                f"scales: got {self.scales}, needs at least one number, above 0 to {LARGEST_SCALE}"
            )
        if len(self.scales) > MOST_SCALES:
            raise UserError(f"scales: got {len(self.scales)} numbers, needs at most {MOST_SCALES}")

    @property
    def name(self) -> str:
        """For a person: "whole image", "windows of 512, overlap 0.33, flipped, scales 0.75 1 1.25"."""
        window = f"windows of {self.window}, overlap {self.overlap:.2g}"
        parts = ["whole image" if self.window is None else window]
        parts += ["flipped"] if self.flip else []
        if self.scales != (1.0,):
            parts.append("scales " + " ".join(f"{scale:g}" for scale in self.scales))
        return ", ".join(parts)

    @torch.inference_mode()
    def labels(self, model: nn.Module, images: Tensor, device: torch.device, *, num_classes: int) -> Tensor:
        """The most likely class of each pixel of `images` (B, 3, H, W) uint8: (B, H, W) uint8."""
        if self == WHOLE_IMAGE:  # no blend: there is no need for logits at the size of the images
            padded = at_least(as_float(images, device), SMALLEST_SIDE)
            found = enlarged_argmax(model(padded).logits, padded.shape[2:])
            return found[:, : images.shape[2], : images.shape[3]]
        labels = torch.empty(len(images), *images.shape[2:], dtype=torch.uint8, device=device)
        for block in self.blocks(model, images, device, num_classes=num_classes):
            size = block.logits.shape[2:]
            labels[:, block.rows, block.columns] = enlarged_argmax(block.logits, size)
        return labels

    @torch.inference_mode()
    def blocks(
        self, model: nn.Module, images: Tensor, device: torch.device, *, num_classes: int
    ) -> Iterator[Block]:
        """The logits of `images` (B, 3, H, W) uint8 at their size, in blocks that cover each pixel once.

        Of several looks, they are the logarithms of the mean probabilities. The model is in eval mode.
        """

        def look(part: Tensor) -> Tensor:
            return self.look(model, as_float(part, device))

        window = (images.shape[2], images.shape[3]) if self.window is None else (self.window, self.window)
        most_columns = int(BAND_BYTES / (4 * len(images) * num_classes * window[0]))
        yield from blended(
            look, images, window=window, overlap=self.overlap, most_columns=max(window[1], most_columns)
        )

    def look(self, model: nn.Module, images: Tensor) -> Tensor:
        """Logits (B, K, h, w) of float images of that size."""
        if not self.flip and self.scales == (1.0,):
            return logits_at(model, images, images.shape[2:])
        total: Tensor | float = 0.0
        for scale in self.scales:
            scaled = scaled_by(images, scale)
            total = total + logits_at(model, scaled, images.shape[2:]).softmax(1)
            if self.flip:
                total = total + logits_at(model, scaled.flip(3), images.shape[2:]).flip(3).softmax(1)
        assert isinstance(total, Tensor)
        return (total / (len(self.scales) * (1 + self.flip))).log()


WHOLE_IMAGE = Protocol()


def logits_at(model: nn.Module, images: Tensor, size: torch.Size) -> Tensor:
    """Logits of images of any size, resized to `size`."""
    padded = at_least(images, SMALLEST_SIDE)
    logits: Tensor = model(padded).logits  # (B, K, h, w)
    if padded.shape != images.shape:
        logits = resize(logits, padded.shape[2:])[..., : images.shape[2], : images.shape[3]]
    return logits if logits.shape[2:] == size else resize(logits, size)


def as_float(images: Tensor, device: torch.device) -> Tensor:
    """8-bit images as networks take them: in [0, 1], on the device."""
    return images.to(device).float().div_(255)


def scaled_by(images: Tensor, scale: float) -> Tensor:
    if scale == 1:
        return images
    size = [max(1, round(length * scale)) for length in images.shape[2:]]
    return F.interpolate(images, size=size, mode="bilinear", align_corners=False, antialias=scale < 1)


def at_least(images: Tensor, side: int) -> Tensor:
    """Small images grown by their last row and column: networks refuse what is smaller than their stride."""
    below, right = (max(0, side - length) for length in images.shape[2:])
    if not below and not right:
        return images
    return F.pad(images, (0, right, 0, below), mode="replicate")
