"""Which image sizes a network takes, found by trying, and how an image is brought to one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import gcd

import torch
import torch.nn.functional as F
from torch import Tensor

from recoseg.errors import UserError, require_whole
from recoseg.models.bilinear import resize

MULTIPLES = (1, 2, 4, 8, 14, 16, 28, 32, 56, 64, 128)
"""Tried in this order: halvings, and the patches of vision transformers."""

Answer = Callable[[Tensor], Tensor]
"""Images (B, 3, H, W) as the network wants them -> its logits; an exception if it refuses their size."""


@dataclass(frozen=True, kw_only=True)
class SizeRule:
    """The sides that a network takes; other images are padded at the bottom and on the right."""

    multiple_of: int = 1
    at_least: int = 1
    square: bool = False

    def padded(self, size: Sequence[int]) -> tuple[int, int]:
        """The smallest (height, width) that the network takes and that holds an image of this size."""
        height, width = (max(self.at_least, -(-side // self.multiple_of) * self.multiple_of) for side in size)
        return (max(height, width),) * 2 if self.square else (height, width)

    def pad(self, images: Tensor) -> Tensor:
        """(B, 3, H, W) -> (B, 3, H', W'); the last row and column are repeated, which any size allows."""
        height, width = self.padded(images.shape[2:])
        below, right = height - images.shape[2], width - images.shape[3]
        return F.pad(images, (0, right, 0, below), mode="replicate") if below or right else images


def crop_logits(logits: Tensor, padded: Sequence[int], size: Sequence[int]) -> Tensor:
    """The logits of the image proper, to the pixel: of a padded image they are enlarged before the cut."""
    if tuple(padded) == tuple(size):
        return logits
    return resize(logits, (padded[0], padded[1]))[:, :, : size[0], : size[1]]


def crop_features(features: Tensor, padded: Sequence[int], size: Sequence[int]) -> Tensor:
    """The cells of a feature map (B, C, h, w) that lie on the image proper, to half a cell."""
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
    """The loosest rule whose example the network takes; `images_of(height, width)` makes an image to try."""
    if multiple_of is not None:
        require_whole("multiple_of", multiple_of)
    multiples = MULTIPLES if multiple_of is None else (multiple_of,)
    refusals = []
    for square in (False, True):
        for multiple in multiples:
            height, width = example_size(multiple, square=square)
            refusal = _why_refused(answer, images_of(height, width))
            if refusal is None:
                rule = SizeRule(multiple_of=multiple, square=square)
                return replace(rule, at_least=_smallest_side(answer, images_of, multiple, most=height))
            refusals.append(f"{height}x{width}: {refusal}")
    raise UserError(
        f"the network refuses images (1, 3, H, W) of all {len(refusals)} sizes tried, the first of "
        f"{refusals[0]}; if it needs sides of a certain multiple, give it as multiple_of="
    )


def example_size(multiple: int, *, square: bool) -> tuple[int, int]:
    """Sides of some 70 pixels that are this multiple and, among `MULTIPLES`, no larger one."""
    odd = (factor for factor in range(-(-70 // multiple), 10**6) if gcd(factor, 14) == 1)
    height, width = next(odd) * multiple, next(odd) * multiple
    return (height, height) if square else (height, width)


def _why_refused(answer: Answer, images: Tensor) -> str | None:
    """What the network says against the size of these images; None if it takes them whole."""
    try:
        logits = answer(images)
    except UserError:
        raise
    except Exception as error:  # networks refuse sizes with errors of all kinds
        return one_line(error)
    # Patches that do not fill the image leave its last rows unread, without a word.
    corner = images.clone()
    corner[:, :, -1, -1] = -10 * corner[:, :, -1, -1].sign()
    if torch.equal(answer(corner), logits) and not torch.equal(answer(images.flip(3)), logits):
        return "it does not look at the last rows or columns"
    return None


def _smallest_side(
    answer: Answer, images_of: Callable[[int, int], Tensor], multiple: int, *, most: int
) -> int:
    """The least side that works, among doublings of the multiple up to `most`, which does."""
    for side in _doublings(multiple, most):
        try:
            answer(images_of(side, side))
        except Exception:
            continue
        return side
    return most


def _doublings(side: int, most: int) -> Iterator[int]:
    while side < most:
        yield side
        side *= 2


def one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__
