"""Whether an exported network says what the original says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from recoseg.errors import UserError
from recoseg.export.formats import Run
from recoseg.seeds import torch_generator

TOLERANCE = 1e-4
"""Difference of logits, as a share of the largest logit: float32 sums in another order stay below."""

SIZES = ((1, 64, 64), (2, 97, 130), (3, 160, 96))
"""Of the random images: batch, height, width; odd sides too."""


@dataclass(frozen=True)
class Difference:
    """Over all images that were compared."""

    largest: float  # of logits
    largest_logit: float
    num_images: int
    num_pixels: int
    num_other_class: int  # pixels to which the two give different classes

    @property
    def is_small(self) -> bool:
        return self.largest <= TOLERANCE * max(1.0, self.largest_logit)


def random_images(size: tuple[int, int] | None) -> list[Tensor]:
    """Batches of noise, of several sizes unless one is given."""
    shapes = SIZES if size is None else [(count, *size) for count, _, _ in SIZES]
    generator = torch_generator(0, "images to check an export with")
    return [
        torch.randint(256, (count, 3, height, width), dtype=torch.uint8, generator=generator)
        for count, height, width in shapes
    ]


@torch.inference_mode()
def compare(original: nn.Module, exported: Run, batches: Iterable[Tensor]) -> Difference:
    """Both on each batch (B, 3, H, W) uint8."""
    largest = largest_logit = 0.0
    num_images = num_pixels = num_other = 0
    for images in batches:
        expected, got = original(images), exported(images)
        if expected.shape != got.shape:
            raise UserError(f"the exported network gives {tuple(got.shape)}, not {tuple(expected.shape)}")
        if not bool(got.isfinite().all()):
            raise UserError("the exported network gives values that are not finite")
        largest = max(largest, float((expected - got).abs().max()))
        largest_logit = max(largest_logit, float(expected.abs().max()))
        num_images += len(images)
        num_pixels += images[:, 0].numel()
        num_other += int((expected.argmax(1) != got.argmax(1)).sum())
    return Difference(largest, largest_logit, num_images, num_pixels, num_other)
