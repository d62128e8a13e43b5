"""Scores where classes meet: Boundary IoU, boundary F-score and IoU near contours, of all classes at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from math import hypot, isfinite

import torch
import torch.nn.functional as F
from torch import Tensor

from recoseg.distributed import sum_over_processes
from recoseg.errors import UserError
from recoseg.evaluate.scores import BoundaryScores, class_counts, confusion_matrix
from recoseg.types import IGNORE


@dataclass(frozen=True)
class Distance:
    """`value` pixels; or, `of_diagonal`, so many hundredths of the diagonal, whatever an image's size."""

    value: float
    of_diagonal: bool = False

    def __post_init__(self) -> None:
        if not (isfinite(self.value) and self.value > 0) or (self.of_diagonal and self.value > 100):
            raise UserError(f"got {self.as_word()!r}, {_ALLOWED}")

    @classmethod
    def parse(cls, text: str) -> Distance:
        """From "3" or "0.75%"."""
        number, is_share = text.strip().removesuffix("%"), text.strip().endswith("%")
        try:
            value = float(number)
        except ValueError:
            raise UserError(f"got {text!r}, {_ALLOWED}") from None
        return cls(value, is_share)

    def as_word(self) -> str:
        """What `parse` reads."""
        return f"{self.value:g}{'%' if self.of_diagonal else ''}"

    def __str__(self) -> str:
        if self.of_diagonal:
            return f"{self.value:g} % of the diagonal"
        return f"{self.value:g} pixel{'' if self.value == 1 else 's'}"

    def pixels(self, height: int, width: int) -> float:
        """No more than the diagonal: nothing in an image is farther away."""
        diagonal = hypot(height, width)
        return self.value / 100 * diagonal if self.of_diagonal else min(self.value, diagonal)

    def whole_pixels(self, height: int, width: int) -> int:
        """Rounded, at least 1."""
        return max(1, round(self.pixels(height, width)))


_ALLOWED = "needs pixels above 0 such as 3, or a share of the diagonal such as 0.75%"


_OFFSETS_AT_ONCE = 16
_DILATION, TOLERANCE, _BAND = (Distance(share, of_diagonal=True) for share in (2, 0.75, 1))

_THIN_VOID, _LEAST_THIN_VOID = Distance(1, of_diagonal=True), 6
"""A band of void up to this wide, in pixels at least 6, hides a contour: those of Pascal VOC are 5 wide."""


@dataclass(frozen=True, kw_only=True)
class BoundaryRule:
    """What counts as near a boundary.

    `dilation` is the width of Boundary IoU's bands (Cheng et al., 2021), `tolerance` how far a contour may be
    off for the F-score (Csurka et al., 2013), `band` how far from true contours the IoU near them looks.
    """

    dilation: Distance = _DILATION
    tolerance: Distance = TOLERANCE
    band: Distance = _BAND

    def as_plain(self) -> dict[str, str]:
        """For a JSON file."""
        return {field.name: getattr(self, field.name).as_word() for field in fields(self)}


class BoundaryCounter:
    """Adds up integer counts, from which the scores of all images follow."""

    def __init__(self, num_classes: int, rule: BoundaryRule, *, device: torch.device | str) -> None:
        self.num_classes, self.rule = num_classes, rule
        self.bands = torch.zeros(3, num_classes, dtype=torch.int64, device=device)
        self.contours = torch.zeros(4, num_classes, dtype=torch.int64, device=device)
        self.confusion = torch.zeros(num_classes, num_classes, dtype=torch.int64, device=device)

    def add(self, predicted: Tensor, labels: Tensor) -> None:
        """(B, H, W) uint8 both. What has no true label is void in both maps; void is no neighbour.

        Contours are those of maps in which thin void is filled; pixels are counted where they have a label.
        """
        size = labels.shape[1:]
        is_void = labels == IGNORE
        predicted = _void_where(is_void, predicted)
        if is_void.any():
            predicted, labels = _without_thin_void(predicted, labels, width=thin_void_width(*size))
        self.bands += self.count_bands(predicted, labels, is_void, self.rule.dilation.whole_pixels(*size))
        self.contours += self.count_contours(predicted, labels, self.rule.tolerance.pixels(*size))
        is_far = ~near_change(labels, self.rule.band.whole_pixels(*size))
        self.confusion += confusion_matrix(predicted, _void_where(is_far | is_void, labels), self.num_classes)

    def take(self, other: BoundaryCounter) -> None:
        """Add what another has counted by the same rule."""
        self.bands += other.bands
        self.contours += other.contours
        self.confusion += other.confusion

    def scores(self) -> BoundaryScores:
        """Of everything added so far, by all processes."""
        counts = (self.bands, self.contours, self.confusion)
        return BoundaryScores(*(sum_over_processes(count).cpu() for count in counts))

    def count_bands(self, predicted: Tensor, labels: Tensor, is_void: Tensor, reach: int) -> Tensor:
        """(3, K): pixels in the band of their class in both maps, in the truth, as predicted."""
        true_band, predicted_band = (
            _void_where(is_void, band_labels(one, reach)) for one in (labels, predicted)
        )
        both = _void_where(true_band != predicted_band, true_band)
        return torch.stack([self.per_class(found) for found in (both, true_band, predicted_band)])

    def count_contours(self, predicted: Tensor, labels: Tensor, tolerance: float) -> Tensor:
        """(4, K): true contour pixels, those found, predicted ones, those that are right."""
        margin = [int(tolerance)] * 4
        true, guess = (contour_labels(F.pad(one, margin, value=IGNORE)) for one in (labels, predicted))
        counts = (true, _near_same(true, guess, tolerance), guess, _near_same(guess, true, tolerance))
        return torch.stack([self.per_class(found) for found in counts])

    def per_class(self, labels: Tensor) -> Tensor:
        return class_counts(labels, self.num_classes)


def _void_where(is_void: Tensor, labels: Tensor) -> Tensor:
    """`labels` (uint8), IGNORE where `is_void`: masked_fill, but quicker, since IGNORE has all bits set."""
    return labels | is_void.view(torch.uint8) * IGNORE


def thin_void_width(height: int, width: int) -> int:
    return max(_LEAST_THIN_VOID, _THIN_VOID.whole_pixels(height, width))


def _without_thin_void(predicted: Tensor, labels: Tensor, *, width: int) -> tuple[Tensor, Tensor]:
    """Both maps, with bands of void up to `width` filled: a pixel there takes what its nearest neighbour has.

    The nearest one that has a true label, in both maps: so equal maps stay equal. Wider void stays void.
    """
    side = width + 1  # of a square that fits into what is wider
    margin = int(side // 2 * 2**0.5)  # the nearest label is not further than the corners of such a square
    padded = [F.pad(one, [margin] * 4, value=IGNORE) for one in (predicted, labels)]
    is_labelled = (padded[1] != IGNORE).flatten()
    is_thin = F.pad((labels == IGNORE) & ~_holds_squares(labels == IGNORE, side), [margin] * 4)
    places = is_thin.flatten().nonzero().squeeze(1)  # (n,)
    sources = nearest(places, is_labelled, disc(side // 2 * 2**0.5, padded[1].shape[2]))
    for one in padded:
        flat = one.view(-1)
        flat[places] = flat[sources]
    filled = [one[:, margin:-margin, margin:-margin].contiguous() for one in padded]
    return filled[0], filled[1]


def _holds_squares(mask: Tensor, side: int) -> Tensor:
    """(B, H, W) bool: what squares of `side` cover that lie within the mask, or beyond the image."""
    padded = F.pad(mask.view(torch.uint8), [side - 1] * 4, value=1)
    inside = _over_windows(padded, side, torch.minimum)  # (B, H + side - 1, W + side - 1)
    return _over_windows(inside, side, torch.maximum).bool()


def nearest(places: Tensor, is_wanted: Tensor, offsets: Sequence[int]) -> Tensor:
    """(n,) For each of the places in a flat map the nearest wanted one, by the order of the offsets."""
    sources, first = places.clone(), min(offsets)
    rest = torch.arange(len(places), device=places.device)  # numbers of those not found yet
    for start in range(0, len(offsets), _OFFSETS_AT_ONCE):
        here = places.index_select(0, rest) + first  # as numbers in a map that is moved by an offset
        chosen = torch.zeros_like(here)
        for offset in reversed(offsets[start : start + _OFFSETS_AT_ONCE]):  # so that the nearest comes last
            chosen.masked_fill_(is_wanted[offset - first :].index_select(0, here), offset)
        is_found = chosen != 0  # a place itself is none of those wanted
        sources[rest[is_found]] += chosen[is_found]
        rest = rest[~is_found]
        if not len(rest):
            break
    return sources


def band_labels(labels: Tensor, reach: int) -> Tensor:
    """The labels within `reach` of another class or of the image's border; IGNORE elsewhere."""
    is_inside = ~near_change(labels, reach)
    for along_border in (is_inside[:, :reach], is_inside[:, -reach:]):
        along_border.fill_(False)
    for along_border in (is_inside[:, :, :reach], is_inside[:, :, -reach:]):
        along_border.fill_(False)
    return _void_where(is_inside, labels)


def near_change(labels: Tensor, reach: int) -> Tensor:
    """(B, H, W) bool: whose square of 2 x reach + 1 pixels holds another label. IGNORE is not one."""
    padded = F.pad(labels, [reach] * 4, value=IGNORE)
    length = 2 * reach + 1
    # In 8 bits IGNORE is the highest label, and one up it is the lowest: neither extreme is ever its own.
    lowest = _over_windows(padded, length, torch.minimum)
    highest = _over_windows(padded + 1, length, torch.maximum)
    return (highest != lowest + 1) & (labels != IGNORE)


def _over_windows(values: Tensor, length: int, pick: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """`pick` (minimum or maximum) over every square of `length`: (B, H, W) -> (B, H - length + 1, ...)."""
    for dim in (1, 2):
        covered = 1
        while covered < length:  # two windows side by side, or overlapping, make a longer one
            step = min(covered, length - covered)
            rest = values.shape[dim] - step
            values = pick(values.narrow(dim, 0, rest), values.narrow(dim, step, rest))
            covered += step
    return values


def contour_labels(labels: Tensor) -> Tensor:
    """The labels of pixels with a neighbour (of four) of another class; IGNORE elsewhere."""
    is_contour = torch.zeros_like(labels, dtype=torch.bool)
    for dim in (1, 2):
        rest = labels.shape[dim] - 1
        first, second = labels.narrow(dim, 0, rest), labels.narrow(dim, 1, rest)
        differ = (first != second) & (first != IGNORE) & (second != IGNORE)
        for side in (0, 1):
            is_contour.narrow(dim, side, rest).bitwise_or_(differ)
    return _void_where(~is_contour, labels)


def _near_same(contours: Tensor, others: Tensor, tolerance: float) -> Tensor:
    """(n,) The labels of those `contours` that have their like among `others` within `tolerance`.

    Both (B, H, W) uint8, IGNORE but for contours, which have a margin of `tolerance` around them.
    """
    flat, other = contours.flatten(), others.flatten()
    offsets = disc(tolerance, contours.shape[2])
    first = min(offsets)
    places = (flat != IGNORE).nonzero().squeeze(1)  # (n,)
    labels = flat.index_select(0, places)
    places += first  # as numbers in a map that is moved by an offset, counted from the first one
    found = []
    # The nearest are looked at first: most contour pixels are found there, and few go the rest of the way.
    for start in range(0, len(offsets), _OFFSETS_AT_ONCE):
        is_found = torch.zeros_like(labels, dtype=torch.bool)
        for offset in offsets[start : start + _OFFSETS_AT_ONCE]:
            is_found |= other[offset - first :].index_select(0, places) == labels
        found.append(labels[is_found])
        places, labels = places[~is_found], labels[~is_found]
    return torch.cat(found)


def disc(radius: float, width: int) -> list[int]:
    """Offsets into flat maps of `width` to all pixels within `radius`, the nearest first."""
    side = range(-int(radius), int(radius) + 1)
    inside = sorted((y * y + x * x, y * width + x) for y in side for x in side if y * y + x * x <= radius**2)
    return [offset for _, offset in inside]
