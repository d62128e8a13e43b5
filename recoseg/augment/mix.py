"""CutOut, CutMix and ClassMix of a batch: pixels of each image join those of the next, with their labels.

A mix takes images (B, 3, H, W), their pseudo-labels and a CPU generator, and returns the mixed ones. What is
random is drawn on the CPU, a few numbers for each image, so a seed means the same on every device, and
nothing waits for the device.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from recoseg.augment.to_device import send_together
from recoseg.types import IGNORE, PseudoLabels

Mix = Callable[[Tensor, PseudoLabels, torch.Generator], tuple[Tensor, PseudoLabels]]

MEAN_COLOUR = (0.485, 0.456, 0.406)
"""ImageNet's mean, which the networks' normalisation turns into 0: a hole that says nothing."""

_LEAST_AREA, _MOST_AREA, _ASPECT = 0.02, 0.4, 0.3  # of a small box


def no_mix(images: Tensor, pseudo: PseudoLabels, generator: torch.Generator) -> tuple[Tensor, PseudoLabels]:
    """Leaves everything as it is."""
    return images, pseudo


def cutout(images: Tensor, pseudo: PseudoLabels, generator: torch.Generator) -> tuple[Tensor, PseudoLabels]:
    """A box of each image is blanked: mean colour, no label."""
    inside = random_boxes(images, generator)
    labels = pseudo.labels.masked_fill(inside, IGNORE)
    confidence = pseudo.confidence.masked_fill(inside, 0)
    return blank(images, inside), replace(pseudo, labels=labels, confidence=confidence)


def blank(images: Tensor, inside: Tensor) -> Tensor:
    """(B, 3, H, W) -> the same, with the mean colour where `inside` (B, H, W) is true."""
    blanked = images.clone()
    for plane, colour in zip(blanked.unbind(1), MEAN_COLOUR, strict=True):
        plane.masked_fill_(inside, colour)
    return blanked


def cutmix(images: Tensor, pseudo: PseudoLabels, generator: torch.Generator) -> tuple[Tensor, PseudoLabels]:
    """A box of each image is pasted onto the next image."""
    return paste(random_boxes(images, generator), images, pseudo)


def classmix(images: Tensor, pseudo: PseudoLabels, generator: torch.Generator) -> tuple[Tensor, PseudoLabels]:
    """Half of the classes of each image, rounded down, are pasted onto the next image."""
    return paste(random_classes(pseudo.labels, generator), images, pseudo)


MIXES: dict[str, Mix] = {"none": no_mix, "cutout": cutout, "cutmix": cutmix, "classmix": classmix}
OF_TWO_IMAGES = (cutmix, classmix)
"""They leave a batch of one image as it is."""


def paste(chosen: Tensor, images: Tensor, pseudo: PseudoLabels) -> tuple[Tensor, PseudoLabels]:
    """Image i where `chosen` (B, H, W), else image i + 1; the last is followed by the first."""

    def joined(own: Tensor, mask: Tensor) -> Tensor:
        return torch.where(mask, own, own.roll(-1, 0))

    labels, confidence = joined(pseudo.labels, chosen), joined(pseudo.confidence, chosen)
    return joined(images, chosen[:, None]), replace(pseudo, labels=labels, confidence=confidence)


def random_boxes(images: Tensor, generator: torch.Generator) -> Tensor:
    """(B, H, W) bool, true inside a box of half the area (to rounding), of random aspect and place."""
    count, _, height, width = images.shape
    uniform = torch.rand(3, count, 1, generator=generator, dtype=torch.float64)
    narrowest = (width + 1) // 2
    box_width = narrowest + (uniform[0] * (width - narrowest + 1)).long()  # (B, 1)
    box_height = (height * width + box_width) // (2 * box_width)  # half the area / width, rounded
    top = (uniform[1] * (height - box_height + 1)).long()
    left = (uniform[2] * (width - box_width + 1)).long()
    in_rows, in_columns = within(top, top + box_height, height), within(left, left + box_width, width)
    return boxes(in_rows, in_columns, images)


def random_small_boxes(images: Tensor, generator: torch.Generator, *, probability: float = 0.5) -> Tensor:
    """(B, H, W) bool, true inside a box of 2 to 40 % of the area; no box at all in some of the images.

    FixMatch's and UniMatch's: height / width lies between 0.3 and 3.3, as far as such a box fits, at a random
    place.
    """
    count, _, height, width = images.shape
    uniform = torch.rand(5, count, 1, generator=generator, dtype=torch.float64)
    area = (_LEAST_AREA + (_MOST_AREA - _LEAST_AREA) * uniform[0]) * height * width  # (B, 1)
    aspect = _ASPECT + (1 / _ASPECT - _ASPECT) * uniform[1]
    box_height = (area * aspect).sqrt().maximum(area / width).round().clamp(1, height).long()
    box_width = (area / box_height).round().clamp(1, width).long()
    top = (uniform[2] * (height - box_height + 1)).long()
    left = (uniform[3] * (width - box_width + 1)).long()
    in_rows = within(top, top + box_height, height) & (uniform[4] < probability)
    return boxes(in_rows, within(left, left + box_width, width), images)


def boxes_of_size(images: Tensor, share: float, generator: torch.Generator) -> Tensor:
    """(B, H, W) bool, true inside a box at a random place of each image, its sides a share of the image's."""
    count, _, *size = images.shape
    uniform = torch.rand(2, count, 1, generator=generator, dtype=torch.float64)
    sides = [round(share * length) for length in size]
    starts = [
        (one * (length - side + 1)).long() for one, length, side in zip(uniform, size, sides, strict=True)
    ]
    rows, columns = (
        within(start, start + side, length) for start, side, length in zip(starts, sides, size, strict=True)
    )
    return boxes(rows, columns, images)


def boxes(rows: Tensor, columns: Tensor, images: Tensor) -> Tensor:
    """(B, H) and (B, W) bool on the CPU -> (B, H, W) on the device of the images, true where both are."""
    rows, columns = send_together(rows, columns, like=images)
    return rows[:, :, None] & columns[:, None]


def within(start: Tensor, stop: Tensor, length: int) -> Tensor:
    """(B, 1) and (B, 1) -> (B, length) bool."""
    place = torch.arange(length)
    return (start <= place) & (place < stop)


def random_classes(labels: Tensor, generator: torch.Generator) -> Tensor:
    """(B, H, W) labels -> bool, true where the label is of the chosen half of its image's classes."""
    flat = labels.flatten(1)  # (B, H * W)
    lots = torch.rand(len(flat), IGNORE + 1, generator=generator).to(labels.device, non_blocking=True)
    present = torch.zeros_like(lots, dtype=torch.bool).scatter_(1, flat, True)  # (B, 256)
    present[:, IGNORE] = False  # padding and void are no class
    rank = lots.masked_fill(~present, 2.0).argsort(1).argsort(1)  # of each class; the absent ones come last
    chosen = rank < present.sum(1, keepdim=True) // 2  # (B, 256)
    return chosen.gather(1, flat).view_as(labels)
