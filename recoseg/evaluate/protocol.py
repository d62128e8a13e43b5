"""How an image is shown to a network: whole or by a sliding window, once or also flipped and at other sizes.

The class of every pixel is found from logits at a lower resolution, without enlarging all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from recoseg.errors import UserError
from recoseg.evaluate.sliding_window import Block, blended
from recoseg.models.bilinear import resize
from recoseg.models.sizes import crop_logits
from recoseg.types import IGNORE

SMALLEST_SIDE = 32  # the largest stride that our encoders have
_LARGEST_SCALE, _MOST_SCALES = 16, 32
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
        if self.window is not None and not (type(self.window) is int and self.window >= SMALLEST_SIDE):
            needed = f"needs a whole number of at least {SMALLEST_SIDE} pixels"
            raise UserError(f"window: got {self.window!r}, {needed}")
        if not 0 <= self.overlap < 1:
            raise UserError(f"overlap: got {self.overlap:g}, needs a share of the window from 0 to below 1")
        if not self.scales or not all(0 < scale <= _LARGEST_SCALE for scale in self.scales):
            raise UserError(
                f"scales: got {self.scales}, needs at least one number, above 0 to {_LARGEST_SCALE}"
            )
        if len(self.scales) > _MOST_SCALES:
            raise UserError(f"scales: got {len(self.scales)} numbers, needs at most {_MOST_SCALES}")

    @property
    def name(self) -> str:
        """For a person: "whole image", "windows of 512, overlap 0.33, flipped, scales 0.75 1 1.25"."""
        window = f"windows of {self.window}, overlap {self.overlap:.2g}"
        parts = ["whole image" if self.window is None else window]
        parts += ["flipped"] if self.flip else []
        if self.scales != (1.0,):
            parts.append("scales " + " ".join(f"{scale:g}" for scale in self.scales))
        return ", ".join(parts)

    def seen(
        self, model: nn.Module, images: Tensor, device: torch.device, *, num_classes: int
    ) -> tuple[Tensor, list[tuple[slice, slice, Tensor]]]:
        """The most likely class of each pixel of `images` (B, 3, H, W) uint8: (B, H, W) uint8; and logits.

        These are of the parts that the images were shown in, by rows and columns, at the network's resolution
        or, where looks were blended, at every fourth pixel.
        """
        logits: list[tuple[slice, slice, Tensor]] = []
        return self.labels(model, images, device, num_classes=num_classes, logits=logits), logits

    @torch.inference_mode()
    def labels(
        self,
        model: nn.Module,
        images: Tensor,
        device: torch.device,
        *,
        num_classes: int,
        logits: list[tuple[slice, slice, Tensor]] | None = None,
    ) -> Tensor:
        """The most likely class of each pixel of `images` (B, 3, H, W) uint8: (B, H, W) uint8.

        `logits` takes those of `seen`; without it none are kept, however large the images.
        """
        height, width = images.shape[2:]
        if self == WHOLE_IMAGE:  # no blend: there is no need for logits at the size of the images
            padded = at_least(as_float(images, device), SMALLEST_SIDE)
            coarse = model(padded).logits
            if logits is not None:
                own = crop_logits(coarse, padded.shape[2:], (height, width))
                logits.append((slice(None), slice(None), own))
            return enlarged_argmax(coarse, padded.shape[2:])[:, :height, :width]
        labels = torch.empty(len(images), height, width, dtype=torch.uint8, device=device)
        for block in self.blocks(model, images, device, num_classes=num_classes):
            size = block.logits.shape[2:]
            labels[:, block.rows, block.columns] = enlarged_argmax(block.logits, size)
            if logits is not None:
                logits.append((block.rows, block.columns, _every_fourth(block.logits)))
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
            scaled = _scaled_by(images, scale)
            total = total + logits_at(model, scaled, images.shape[2:]).softmax(1)
            if self.flip:
                total = total + logits_at(model, scaled.flip(3), images.shape[2:]).flip(3).softmax(1)
        assert isinstance(total, Tensor)
        return (total / (len(self.scales) * (1 + self.flip))).log()


WHOLE_IMAGE = Protocol()


def _every_fourth(logits: Tensor) -> Tensor:
    """(B, K, H, W) -> (B, K, H/4, W/4): pixels at the centres of cells, as `shrink_labels` takes them."""
    centres = []
    for length in logits.shape[2:]:
        count = max(1, length // 4)
        centres.append((2 * torch.arange(count, device=logits.device) + 1) * length // (2 * count))
    return logits[:, :, centres[0][:, None], centres[1]]


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


def _scaled_by(images: Tensor, scale: float) -> Tensor:
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


MOST_AT_ONCE = 1 << 16
"""Pixels whose logits are held at once."""


@dataclass(frozen=True)
class Places:
    """Where the pixels along one side of an image lie among the coarser nodes of a logit map."""

    first: Tensor  # (pixels,) the node before; at most the last but one
    weight: Tensor  # (pixels,) of the node after it; the first has the rest

    @classmethod
    def along(cls, length: int, num_nodes: int, like: Tensor) -> Places:
        """As F.interpolate places them, with align_corners=False; there are at least two nodes."""
        pixels = torch.arange(length, dtype=torch.float64, device=like.device)
        place = ((pixels + 0.5) * (num_nodes / length) - 0.5).clamp(0, num_nodes - 1)
        first = place.long().clamp(max=num_nodes - 2)
        return cls(first, (place - first).to(like.dtype))


def enlarged_argmax(logits: Tensor, size: tuple[int, int] | torch.Size) -> Tensor:
    """(B, K, h, w) -> (B, H, W) uint8: what `resize(logits, size).argmax(1)` gives, several times as fast.

    Bilinear logits are weighted means of the four nodes around a pixel. Where one class is ahead at all four,
    it is ahead between them as well; only where the four differ are logits interpolated.
    """
    grow = [max(0, 2 - logits.shape[3]), max(0, 2 - logits.shape[2])]
    logits = F.pad(logits, (0, grow[0], 0, grow[1]), mode="replicate") if any(grow) else logits
    nodes = logits.permute(0, 2, 3, 1).contiguous()  # (B, h, w, K)
    classes = best(nodes)
    if classes.shape[1:] == tuple(size):
        return classes
    down, across = (Places.along(size[n], nodes.shape[1 + n], nodes) for n in (0, 1))
    agreed = _agreed_classes(classes)
    labels = agreed.index_select(2, across.first).index_select(1, down.first)  # (B, H, W)
    flat = labels.view(-1)
    for pixels in torch.split((flat == IGNORE).nonzero().squeeze(1), MOST_AT_ONCE):
        flat.scatter_(0, pixels, best(interpolated(nodes, pixels, down, across)))
    return labels


def best(logits: Tensor) -> Tensor:
    """(..., K) -> (...) uint8. A maximum with its value is found sooner than by argmax."""
    return logits.max(-1).indices.to(torch.uint8)


def _agreed_classes(classes: Tensor) -> Tensor:
    """(B, h, w) uint8 -> (B, h - 1, w - 1): the class that four neighbouring nodes share, or IGNORE."""
    first = classes[:, :-1, :-1]
    others = (classes[:, :-1, 1:], classes[:, 1:, :-1], classes[:, 1:, 1:])
    differ = (first != others[0]) | (first != others[1]) | (first != others[2])
    return first.masked_fill(differ, IGNORE)


def interpolated(nodes: Tensor, pixels: Tensor, down: Places, across: Places) -> Tensor:
    """(n, K): the logits of the pixels with these numbers, (n,), counted through all images."""
    _, height, width, num_classes = nodes.shape
    row = pixels.div(len(across.first), rounding_mode="floor")
    image = row.div(len(down.first), rounding_mode="floor")
    x, y = pixels - row * len(across.first), row - image * len(down.first)
    first = (image * height + down.first.index_select(0, y)) * width + across.first.index_select(0, x)
    around = torch.tensor([0, 1, width, width + 1], device=nodes.device)
    low, right = down.weight.index_select(0, y), across.weight.index_select(0, x)
    both = low * right
    weights = torch.stack((1 - low - right + both, right - both, low - both, both), dim=1)  # (n, 4)
    return F.embedding_bag(
        first[:, None] + around, nodes.view(-1, num_classes), mode="sum", per_sample_weights=weights
    )
