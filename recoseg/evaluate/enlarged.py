"""The most likely class of every pixel, from logits at a lower resolution, without enlarging all of them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from recoseg.types import IGNORE

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
    agreed = agreed_classes(classes)
    labels = agreed.index_select(2, across.first).index_select(1, down.first)  # (B, H, W)
    flat = labels.view(-1)
    for pixels in torch.split((flat == IGNORE).nonzero().squeeze(1), MOST_AT_ONCE):
        flat.scatter_(0, pixels, best(interpolated(nodes, pixels, down, across)))
    return labels


def best(logits: Tensor) -> Tensor:
    """(..., K) -> (...) uint8. A maximum with its value is found sooner than by argmax."""
    return logits.max(-1).indices.to(torch.uint8)


def agreed_classes(classes: Tensor) -> Tensor:
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
