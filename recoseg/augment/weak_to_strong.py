"""Weak and strong views of unlabelled crops, as FixMatch and its heirs have them.

A network labels the weak view; strong views of it, which lie on it pixel by pixel, learn those labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from recoseg.augment.colour import ColourChange, ColourJitter, GaussianBlur, Greyscale, changed
from recoseg.augment.mix import no_mix, random_small_boxes
from recoseg.augment.strong import StrongView
from recoseg.errors import UserError
from recoseg.types import Batch, PseudoLabels

STRONG_COLOURS = (
    ColourJitter(probability=0.8, brightness=0.5, contrast=0.5, saturation=0.5, hue=0.25),
    Greyscale(probability=0.2),
    GaussianBlur(probability=0.5, sigma=(0.1, 2.0)),
)
"""The authors'."""


@dataclass(frozen=True)
class StrongImages:
    """One or more strong views of B images, one after the other; a box of some shows the next image."""

    images: Tensor  # (V * B, 3, H, W)
    pasted: Tensor  # (V * B, H, W) bool: pixels of the next image

    def labels(self, own: PseudoLabels, pasted: PseudoLabels | None = None) -> PseudoLabels:
        """What the pixels should be, given labels of the B images; `pasted`: others, for what is pasted."""
        other = own if pasted is None else pasted
        times = (len(self.images) // len(own.labels), 1, 1)

        def joined(mine: Tensor, theirs: Tensor) -> Tensor:
            return torch.where(self.pasted, theirs.roll(-1, 0).repeat(times), mine.repeat(times))

        return PseudoLabels(joined(own.labels, other.labels), joined(own.confidence, other.confidence))


class WeakToStrong:
    """Weak: random scale, crop and flip. Strong: other colours, then CutMix with probability `cutmix`.

    What CutMix pastes into an image is a box of the next one of the batch; the last is followed by the first.
    """

    def __init__(
        self,
        *,
        scale: tuple[float, float] = (1.0, 1.0),
        flip: float = 0.5,
        colours: Sequence[ColourChange] = STRONG_COLOURS,
        cutmix: float = 0.5,
    ) -> None:
        if not 0 <= cutmix <= 1:
            raise UserError(f"cutmix is a probability, got {cutmix:g}")
        self.move = StrongView(scale=scale, mix=no_mix, colours=(), flip=flip)
        self.colours, self.cutmix = tuple(colours), cutmix

    @property
    def least_images(self) -> int:
        """How many it needs at once to paste one into another."""
        return 2 if self.cutmix > 0 else 1

    def weak(self, unlabelled: Batch, generator: torch.Generator) -> Batch:
        """The crops, what is known of their labels and what of them is no padding, moved together."""
        return self.move.of_batch(unlabelled, generator)

    def strong(self, images: Tensor, generator: torch.Generator, *, views: int = 1) -> StrongImages:
        """So many views of weak images (B, 3, H, W), each with colours and boxes of its own."""
        with torch.autocast(images.device.type, enabled=False):  # whole precision, as labelled images have
            images = changed(images.repeat(views, 1, 1, 1), self.colours, generator)
            pasted = random_small_boxes(images, generator, probability=self.cutmix)
            # The last image of a view is followed by the first of another view: of the same image.
            return StrongImages(torch.where(pasted[:, None], images.roll(-1, 0), images), pasted)
