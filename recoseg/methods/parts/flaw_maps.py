"""Flaw maps: where a prediction errs, as a flaw detector learns it, and as GCT's students read it."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from recoseg.methods.parts.discriminator import class_maps
from recoseg.types import IGNORE

_QUIET = 0.1  # a detector that says no more than this anywhere in an image has found no flaw there
_LEAST_SPAN = 1e-4  # a map that varies by less is flat, and what varies are rounding errors


@torch.no_grad()
def true_flaws(probabilities: Tensor, labels: Tensor) -> Tensor:
    """(B, K, H, W) and (B, H, W) -> (B, H, W) in [0, 1]: how wrong each place is; 0 without a label.

    Half of the summed difference to the true map, blurred, grown by a pixel, blurred more, and stretched to
    reach from 0 to 1 in each image. Pixels without a label blur into no other one.
    """
    known = labels != IGNORE
    true = class_maps(labels, probabilities.shape[1]).to(probabilities.dtype)
    flaws = (true - probabilities).abs().sum(1) / 2
    side = min(labels.shape[1:])
    flaws = blurred(flaws, known, width=side // 8)
    flaws = F.max_pool2d(flaws[:, None], 3, stride=1, padding=1)[:, 0]
    return stretched(blurred(flaws, known, width=side // 4), known)


@torch.no_grad()
def read_flaws(scores: Tensor, inside: Tensor, *, bad_above: float) -> Tensor:
    """What a detector says of images, (B, H, W), as flaws in [0, 1]; 0 where a pixel is not `inside`.

    Without negative ones, blurred, and stretched to reach from 0 to 1 in each image, unless it is quiet
    there: then no pixel has a flaw. From `bad_above` on a flaw is whole: 1.
    """
    flaws = blurred(scores.clamp(min=0), inside, width=min(scores.shape[1:]) // 16)
    found = flaws.amax((1, 2), keepdim=True) > _QUIET
    flaws = stretched(flaws, inside) * found
    return flaws.masked_fill(flaws > bad_above, 1.0)


def blurred(maps: Tensor, inside: Tensor, *, width: int) -> Tensor:
    """(B, H, W) -> the same: a Gaussian mean of the pixels around each that are `inside`; 0 elsewhere.

    The Gaussian is `width` pixels wide, or one more, so that it has a middle; its deviation is OpenCV's. At
    the edges images are mirrored.
    """
    reach = width // 2
    places = torch.arange(-reach, reach + 1, device=maps.device, dtype=maps.dtype)
    deviation = 0.3 * (reach - 1) + 0.8
    kernel = (-(places**2) / (2 * deviation**2)).exp()
    kernel = kernel / kernel.sum()
    both = torch.cat([maps * inside, inside.to(maps.dtype)])[:, None]  # (2 B, 1, H, W)
    both = F.pad(both, (reach, reach, reach, reach), mode="reflect")
    with torch.autocast(maps.device.type, enabled=False):  # whole precision
        both = F.conv2d(F.conv2d(both, kernel.view(1, 1, -1, 1)), kernel.view(1, 1, 1, -1))
    sums, weights = both[:, 0].chunk(2)
    return sums / weights.clamp(min=1e-6) * inside


def stretched(maps: Tensor, inside: Tensor) -> Tensor:
    """(B, H, W) -> the same, from 0 to 1 over the pixels `inside` of each image; 0 elsewhere."""
    low = maps.masked_fill(~inside, math.inf).amin((1, 2), keepdim=True)
    high = maps.masked_fill(~inside, -math.inf).amax((1, 2), keepdim=True)
    return ((maps - low) / (high - low).clamp(min=_LEAST_SPAN)).where(inside, 0)
