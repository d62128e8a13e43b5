"""Which pixels of a batch take part in the contrast, which of them are hard, and whether that is enough."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from recoseg.errors import UserError
from recoseg.losses.regions import Regions
from recoseg.types import IGNORE

_ROUNDING = 1e-2  # half precision softmax may miss 0 or 1 by this


@dataclass(frozen=True)
class ContrastPixels:
    """The labels of a batch and what the network thinks of them."""

    labels: Tensor  # (B, h, w) int64; K where a pixel takes no part
    num_classes: int
    own_probability: Tensor  # (B, h, w) float, of the pixel's own label; NaN where a pixel takes no part
    num_wrong: Tensor  # (2,) pixels whose label, and pixels whose probability, cannot be

    @classmethod
    def of(cls, labels: Tensor, probabilities: Tensor) -> ContrastPixels:
        """(B, h, w) with IGNORE, (B, K, h, w) -> what takes part."""
        num_classes = probabilities.shape[1]
        labels = labels.long()
        counted = labels != IGNORE
        known = counted & (labels >= 0) & (labels < num_classes)
        own = probabilities.detach().gather(1, labels.where(known, 0)[:, None])[:, 0]
        own = own.float().masked_fill(~known, float("nan"))
        impossible = (own < -_ROUNDING) | (own > 1 + _ROUNDING)
        num_wrong = torch.stack(((counted & ~known).sum(), impossible.sum()))
        return cls(labels.where(known, num_classes), num_classes, own, num_wrong)


@dataclass(frozen=True)
class Situation:
    """Who can ask and who can answer: the only thing in the contrast that the host must know."""

    present: Tensor  # (N,) classes with pixels here
    asking: Tensor  # (C,) those among them that have queries
    inactive_because: str | None


def survey(pixels: ContrastPixels, regions: Regions, kind: str) -> Situation:
    """One copy to the host, of 2K + 2 numbers: shapes of what follows depend on it, and errors ride along."""
    num_classes = pixels.num_classes
    on_host = torch.cat((regions.counts, regions.candidates, pixels.num_wrong)).cpu()
    counts, candidates, num_wrong = torch.split(on_host, [num_classes, num_classes, 2])
    _refuse_wrong_values(num_wrong, pixels)
    present, asking = counts.nonzero()[:, 0], candidates.nonzero()[:, 0]
    device = regions.counts.device
    return Situation(present.to(device), asking.to(device), _why_inactive(len(present), len(asking), kind))


def _why_inactive(num_present: int, num_asking: int, kind: str) -> str | None:
    if num_present == 0:
        return "every pixel is ignored"
    if num_present == 1:
        return "only one class is present"
    return None if num_asking else f"no pixel may be a {kind} query"


def _refuse_wrong_values(num_wrong: Tensor, pixels: ContrastPixels) -> None:
    num_labels, num_probabilities = num_wrong.tolist()
    if num_labels:
        raise UserError(
            f"labels: got {num_labels} pixels outside 0 to {pixels.num_classes - 1}, needs one of the "
            f"{pixels.num_classes} classes of `probabilities`, or {IGNORE} for a pixel that takes no part"
        )
    if num_probabilities:
        own = pixels.own_probability[~pixels.own_probability.isnan()]
        raise UserError(
            f"probabilities: got values from {own.min():.3g} to {own.max():.3g}, needs 0 to 1; "
            "for logits give logits.softmax(dim=1)"
        )
