"""The network as others run it, image bytes in, logits out; and whether an exported one says the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from recoseg.data.image_files import FULL_DEPTH
from recoseg.errors import UserError
from recoseg.models.bilinear import resize
from recoseg.models.network import SegmentationNetwork
from recoseg.seeds import torch_generator
from recoseg.types import ClassInfo

INPUT, OUTPUT = "images", "logits"


class Deployable(nn.Module):
    """(B, 3, H, W) uint8, RGB -> logits (B, K, H, W) float; normalises itself, has no representation head."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network.inference() if isinstance(network, SegmentationNetwork) else network.eval()

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.network(images.float() / 255).logits  # (B, K, h, w)
        return resize(logits, images.shape[2:])


@dataclass(frozen=True)
class About:
    """What goes into the file besides the network."""

    classes: ClassInfo
    iteration: int | None
    version: str  # of recoseg
    bit_depth: int = FULL_DEPTH  # of 16-bit grey images in training

    def values(self) -> dict[str, object]:
        return {
            "classes": list(self.classes.names),
            "palette": [list(colour) for colour in self.classes.palette],
            "input": f"{INPUT}: uint8 (batch, 3, height, width), RGB",
            "output": f"{OUTPUT}: float32 (batch, classes, height, width); the class is the largest",
            "iteration": self.iteration,
            "recoseg": self.version,
            "bit_depth": self.bit_depth,
        }


Exported = Callable[[Tensor], Tensor]
"""(B, 3, H, W) uint8 -> logits (B, K, H, W): an exported network, run."""

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
def compare(original: nn.Module, exported: Exported, batches: Iterable[Tensor]) -> Difference:
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
