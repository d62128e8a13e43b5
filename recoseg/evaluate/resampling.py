"""How sure a score is: images are drawn anew, with repetition, and the spread of what comes out is measured.

Which images happened to be chosen for validation is chance. What another choice would have given is guessed
from drawing as many images out of these, a thousand times (the bootstrap; Efron, 1979). An interval is the
score, and to each side the standard deviation over the draws times Student's t: with few images the spread
itself is hardly known. Chance in training (the seed) is not in it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import torch
from scipy.special import stdtrit
from torch import Tensor

from recoseg.seeds import numpy_generator

MOST_IMAGES = 300
"""With more of them, counts of each image are not kept: they would take space, and the interval is narrow."""

NUM_DRAWS = 1000
LEVEL = 0.95


class Interval(NamedTuple):
    """Where the true value lies, with a probability of 95 %."""

    low: float
    high: float

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high


class Gain(NamedTuple):
    """How sure the differences of two runs on the same images are."""

    mean_iou: Interval
    iou: list[Interval | None]  # of each class; None where fewer than two images show it


def mean_iou_interval(images: Tensor) -> Interval | None:
    """Of the mean IoU over `images`, counts (N, 3, K) of each as in `Scores`; None for fewer than two."""
    counted = _num_counted(images)
    if counted < 2:
        return None
    spread = _mean(resampled_iou(images, draws(len(images)))).std(correction=0)
    low, high = _around(_mean(iou_of(images.sum(0))), spread, counted)
    return Interval(max(0.0, low), min(1.0, high))


def gain_of(first: Tensor, other: Tensor) -> Gain | None:
    """By how much `other` is above `first`, both (N, 3, K) of the same images; None for fewer than two.

    Both are scored on the same draws: what makes an image hard for both cancels out.
    """
    counted = _num_counted(first)
    if counted < 2:
        return None
    drawn = draws(len(first))
    before, after = resampled_iou(first, drawn), resampled_iou(other, drawn)  # (R, K)
    found = _around(
        _mean(iou_of(other.sum(0))) - _mean(iou_of(first.sum(0))),
        (_mean(after) - _mean(before)).std(correction=0),
        counted,
    )
    gains = iou_of(other.sum(0)) - iou_of(first.sum(0))  # (K,)
    spreads = (after - before).std(0, correction=0)
    showing = ((first[:, 1:] > 0) | (other[:, 1:] > 0)).any(1).sum(0).tolist()  # (K,): images that show it
    of_classes = [
        _around(gain, spread, number) if number > 1 and not gain.isnan() else None
        for gain, spread, number in zip(gains, spreads, showing, strict=True)
    ]
    return Gain(found, of_classes)


def resampled_iou(images: Tensor, drawn: Tensor) -> Tensor:
    """(R, K) float64: the IoU of each class in each draw, from (N, 3, K) and how often (R, N) each is drawn.

    A class that no image of a draw shows keeps the IoU that it has over all: so the mean is over the same
    classes in all draws. One that no image shows at all is NaN.
    """
    sums = (drawn @ images.double().flatten(1)).view(len(drawn), *images.shape[1:])  # (R, 3, K)
    found = iou_of(sums)
    return torch.where(found.isnan(), iou_of(images.sum(0)), found)


@lru_cache(maxsize=8)
def draws(num_images: int) -> Tensor:
    """(R, N) float64: how often each image is in a draw of N; always the same."""
    generator = numpy_generator(0, "resampled images", num_images)
    shares = [1 / num_images] * num_images
    return torch.from_numpy(generator.multinomial(num_images, shares, size=NUM_DRAWS)).double()


def iou_of(counts: Tensor) -> Tensor:
    """(..., 3, K) pixels right, true and called so -> (..., K) float64; NaN where a class is absent."""
    right, true, called = counts.double().unbind(-2)
    return right / (true + called - right)


def _mean(iou: Tensor) -> Tensor:
    """Over the classes that occur."""
    return iou.nanmean(-1)


def _num_counted(images: Tensor) -> int:
    """Those that have a label at all: the others tell nothing."""
    return int(images[:, 1].any(-1).sum())


def _around(score: Tensor, spread: Tensor, num_images: int) -> Interval:
    """From the standard deviation over draws, which is too small by n / (n - 1) under the root."""
    degrees = num_images - 1
    half = float(stdtrit(degrees, (1 + LEVEL) / 2)) * (num_images / degrees) ** 0.5 * float(spread)
    return Interval(float(score) - half, float(score) + half)
