"""The image sizes that a network takes, found by trying, and padding to one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from recoseg.errors import UserError, require_whole
from recoseg.models.bilinear import resize

MULTIPLES = (1, 2, 4, 8, 14, 16, 28, 32, 56, 64, 128)
"""Tried in this order: halvings, and the patches of vision transformers."""

_FACTORS = (1, 3, 5, 9, 11, 19, 23, 37, 39, 71, 73)
"""Times a multiple they give sides of no larger multiple: none is even or a multiple of 7."""

Answer = Callable[[Tensor], Tensor]
"""Normalised images (B, 3, H, W) -> logits; an exception if the network refuses their size."""


@dataclass(frozen=True, kw_only=True)
class SizeRule:
    """The sides that a network takes; other images are padded at the bottom and on the right."""

    multiple_of: int = 1
    at_least: int = 1
    square: bool = False

    def padded(self, size: Sequence[int]) -> tuple[int, int]:
        """Return the smallest (height, width) that the network takes and that holds an image of this size."""
        height, width = (max(self.at_least, -(-side // self.multiple_of) * self.multiple_of) for side in size)
        return (max(height, width),) * 2 if self.square else (height, width)

    def pad(self, images: Tensor) -> Tensor:
        """(B, 3, H, W) -> (B, 3, H', W'); the last row and column are repeated, which any size allows."""
        height, width = self.padded(images.shape[2:])
        below, right = height - images.shape[2], width - images.shape[3]
        return F.pad(images, (0, right, 0, below), mode="replicate") if below or right else images


def crop_logits(logits: Tensor, padded: Sequence[int], size: Sequence[int]) -> Tensor:
    """Crop logits of a padded image to the image, to the pixel: they are enlarged before the cut."""
    if tuple(padded) == tuple(size):
        return logits
    return resize(logits, (padded[0], padded[1]))[:, :, : size[0], : size[1]]


def crop_features(features: Tensor, padded: Sequence[int], size: Sequence[int]) -> Tensor:
    """Crop a feature map (B, C, h, w) of a padded image to the cells on the image, to half a cell."""
    if tuple(padded) == tuple(size):
        return features
    rows, columns = (
        max(1, (2 * cells * inner + outer) // (2 * outer))
        for cells, inner, outer in zip(features.shape[2:], size, padded, strict=True)
    )
    return features[:, :, :rows, :columns]


def find_size_rule(
    answer: Answer, images_of: Callable[[int, int], Tensor], multiple_of: int | None
) -> SizeRule:
    """Find the loosest rule whose example the network takes; `images_of(height, width)` makes an image."""
    if multiple_of is not None:
        require_whole("multiple_of", multiple_of)
    multiples = MULTIPLES if multiple_of is None else (multiple_of,)
    refusals = []
    for square in (False, True):
        for multiple in multiples:
            height, width = example_size(multiple, square=square)
            if refusal := _refusal(answer, images_of(height, width)):
                refusals.append(f"{height}x{width}: {refusal}")
                continue
            rule, side = SizeRule(multiple_of=multiple, square=square), multiple
            while side < height:
                with suppress(Exception):
                    answer(images_of(side, side))
                    break
                side *= 2
            return replace(rule, at_least=min(side, height))
    raise UserError(
        f"the network refuses images (1, 3, H, W) of all {len(refusals)} sizes tried, the first of "
        f"{refusals[0]}; if it needs sides of a certain multiple, give it as multiple_of="
    )


def example_size(multiple: int, *, square: bool) -> tuple[int, int]:
    """Sides of some 70 pixels that are this multiple and, among `MULTIPLES`, no larger one."""
    height, width = [multiple * factor for factor in _FACTORS if multiple * factor >= 70][:2]
    return (height, height if square else width)


def _refusal(answer: Answer, images: Tensor) -> str | None:
    """The network's objection to the size of these images; None if it reads them whole."""
    try:
        logits = answer(images)
    except UserError:
        raise
    except Exception as error:  # networks refuse sizes with errors of all kinds
        text = " ".join(str(error).split())
        return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__
    # Patches that do not fill the image leave its last rows unread, without an error.
    corner = images.clone()
    corner[:, :, -1, -1] = -10 * corner[:, :, -1, -1].sign()
    if torch.equal(answer(corner), logits) and not torch.equal(answer(images.flip(3)), logits):
        return "it does not read the last rows or columns"
    return None
