"""Whether images have an up: whether frozen features tell which way an image was turned."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from recoseg.data.dataset import Dataset
from recoseg.models.network import SegmentationNetwork
from recoseg.probe.regression import fit_classifier
from recoseg.seeds import permutation

_LEAST_IMAGES, _MOST_IMAGES = 40, 60
_SIDE = 192  # pixels of the squares that are turned
_STRENGTH = 0.1
_NO_UP_BELOW = 0.4
"""Share of turns that are recognised, where 0.25 is chance. Streets have 0.98, objects and places 0.66, cell
nuclei 0.28."""


def have_no_up(
    network: SegmentationNetwork, dataset: Dataset, keys: Sequence[str], *, device: torch.device
) -> bool:
    """Whether flips and quarter turns give images that are as likely; False for fewer than 40 images."""
    share = recognised_turns(network, dataset, keys, device=device)
    return share is not None and share < _NO_UP_BELOW


@torch.no_grad()
def recognised_turns(
    network: SegmentationNetwork, dataset: Dataset, keys: Sequence[str], *, device: torch.device
) -> float | None:
    """Share of quarter turns that a linear classifier of mean features recognises in images held back.

    Needs no labels. None for fewer than 40 images, which say too little.
    """
    chosen = [keys[place] for place in permutation(len(keys), 0, "orientation")[:_MOST_IMAGES]]
    if len(chosen) < _LEAST_IMAGES:
        return None
    network = network.to(device).eval()
    features = torch.cat([_turned(network, dataset.image(key), device) for key in chosen])  # (4 * N, C)
    turns = torch.arange(4, device=features.device).repeat(len(chosen))
    fold = torch.arange(len(chosen), device=features.device).repeat_interleave(4) % 4
    right = 0
    for number in range(4):
        kept, held = fold != number, fold == number
        classifier = fit_classifier(features[kept].T.contiguous(), turns[kept], 4, strength=_STRENGTH)
        right += int((classifier.logits(features[held].T).argmax(0) == turns[held]).sum())
    return right / len(turns)


def _turned(network: SegmentationNetwork, image: Tensor, device: torch.device) -> Tensor:
    """Mean features (4, C) of the middle square of an image (3, H, W) uint8, turned by 0 to 3 quarters."""
    height, width = image.shape[1:]
    side = min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    square = image[None, :, top : top + side, left : left + side].to(device).float() / 255
    square = torch.nn.functional.interpolate(square, (_SIDE, _SIDE), mode="bilinear", antialias=True)
    turned = torch.cat([square.rot90(turns, (2, 3)) for turns in range(4)])
    levels = network.levels(network.encode(turned))
    return torch.cat([level.float().mean((2, 3)) for level in levels], 1)
