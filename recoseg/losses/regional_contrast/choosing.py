"""Choosing: which pixels take part, which of them are queries, and which pixels are their negative keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from recoseg.errors import UserError
from recoseg.types import IGNORE

_ROUNDING = 1e-2  # half precision softmax may miss 0 or 1 by this
_RANDOM_BITS = 31
_FLOAT_BITS = 32


@dataclass(frozen=True)
class ContrastPixels:
    """The labels of a batch and what the network thinks of them."""

    labels: Tensor  # (B, h, w) int64; K where a pixel takes no part
    num_classes: int
    own_probability: Tensor  # (B, h, w) float, of the pixel's own label; NaN where a pixel takes no part
    num_wrong: Tensor  # (2,) pixels whose label, and pixels whose probability, cannot be
    zero_or_nan: Tensor  # NaN if the probability of any pixel that takes part is NaN

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
        zero_or_nan = 0 * own.where(known, 0).sum()
        return cls(labels.where(known, num_classes), num_classes, own, num_wrong, zero_or_nan)


# Eq. 4: which pixels may be queries, by the probability (P,) that the network gives their own label.
QUERIES: dict[str, Callable[[Tensor, float], Tensor]] = {
    "hard": lambda own, hard_below: own <= hard_below,
    "random": lambda own, hard_below: torch.ones_like(own, dtype=torch.bool),
    "pixels": lambda own, hard_below: torch.ones_like(own, dtype=torch.bool),
    "easy": lambda own, hard_below: own > hard_below,
}


def hardest(own: Tensor, labels: Tensor, num_classes: int, share: float) -> Tensor:
    """(B, h, w) bool: of each class the `share` of pixels with the lowest `own` probability, at least one.

    `own` (B, h, w) is NaN, and `labels` (B, h, w) is K, where a pixel takes no part.
    """
    labels, own = labels.flatten(), own.flatten().nan_to_num(nan=1.0).clamp(0, 1) + 0.0  # no -0
    # By class, then from hard to easy: bits of floats from 0 to 1 have the order of the floats.
    order = (labels << _FLOAT_BITS | own.view(torch.int32)).argsort()
    by_class = labels[order]
    classes = torch.arange(num_classes + 2, device=labels.device)
    counts = torch.searchsorted(by_class, classes).diff()  # (K + 1,)
    place = torch.arange(len(labels), device=labels.device) - (counts.cumsum(0) - counts)[by_class]
    quota = (counts * share).ceil().clamp(min=1).long()
    quota[num_classes] = 0
    chosen = torch.zeros_like(labels, dtype=torch.bool)
    chosen[order] = place < quota[by_class]
    return chosen


@dataclass(frozen=True)
class Regions:
    """Which pixels belong to which class, and which of them may be queries.

    `order` lists all pixels: class 0, class 1, ..., and last those that take no part. Within a class those
    that may be queries come first, and both parts are shuffled: their first n are a fair draw.
    """

    order: Tensor  # (P,) pixel numbers
    starts: Tensor  # (K,) where in `order` a class begins
    counts: Tensor  # (K,) pixels of the class
    candidates: Tensor  # (K,) those that may be queries


def group_by_class(
    labels: Tensor, candidates: Tensor, num_classes: int, generator: torch.Generator | None
) -> Regions:
    """Sort pixels by class, candidates first, then at random.

    `labels` (B, h, w) int64, K for a pixel that takes no part; `candidates` (B, h, w) bool.
    """
    labels, candidates = labels.flatten(), candidates.flatten()  # (P,)
    random = torch.randint(1 << _RANDOM_BITS, labels.shape, generator=generator, device=labels.device)
    group = labels * 2 + ~candidates
    ascending, order = ((group << _RANDOM_BITS) | random).sort()
    # Class k holds the groups 2k (candidates) and 2k + 1 (the rest): where each begins gives every count.
    groups = torch.arange(2 * num_classes + 1, device=labels.device) << _RANDOM_BITS
    begins = torch.searchsorted(ascending, groups)  # (2K + 1,)
    starts, others = begins[:-1:2], begins[1::2]
    return Regions(order, starts, begins[2::2] - starts, others - starts)


def choose_queries(regions: Regions, classes: Tensor, num_queries: int) -> Tensor:
    """`num_queries` pixels of each of the given classes (C,) -> (C, Q) pixel numbers.

    Drawn without repeats while a class has enough candidates; a class with fewer goes round again, so that
    each of its candidates is used equally often, give or take one.
    """
    turn = torch.arange(num_queries, device=classes.device) % regions.candidates[classes, None]
    return regions.order[regions.starts[classes, None] + turn]


@dataclass(frozen=True)
class PresentClasses:
    """Which classes have pixels and queries: the only thing in the contrast that the host must know."""

    present: Tensor  # (N,) classes with pixels here; where keys come from a feature bank, those that it holds
    with_queries: Tensor  # (C,) classes that have queries
    inactive_because: str | None
    from_bank: bool = False  # whether keys come from a feature bank


def find_present(
    pixels: ContrastPixels, regions: Regions, kind: str, stored: Tensor | None = None
) -> PresentClasses:
    """One copy to the host, of 2K + 2 numbers: shapes of what follows depend on it, and errors ride along.

    `stored` (K,): how many features of each class a bank has to offer, if there is one. With two classes or
    more, keys come from there.
    """
    num_classes = pixels.num_classes
    parts = [regions.counts, regions.candidates, pixels.num_wrong, *([] if stored is None else [stored])]
    on_host = torch.cat(parts).cpu()
    counts, candidates, num_wrong, in_bank = on_host.tensor_split(
        (num_classes, 2 * num_classes, 2 * num_classes + 2)
    )
    _refuse_wrong_values(num_wrong, pixels)
    num_present, num_with_queries, num_in_bank = (
        int((numbers > 0).sum()) for numbers in (counts, candidates, in_bank)
    )
    from_bank = num_in_bank >= 2
    why = _why_inactive(num_present, num_with_queries, kind, from_bank=from_bank)
    present = _first_above_zero(regions.counts, num_present)
    if stored is not None and from_bank:
        present = _first_above_zero(stored, num_in_bank)
    with_queries = _first_above_zero(regions.candidates, num_with_queries)
    return PresentClasses(present, with_queries, why, from_bank)


def _first_above_zero(numbers: Tensor, how_many: int) -> Tensor:
    """Places of the numbers above 0, of which there are `how_many`; `nonzero` would wait for the device."""
    return (numbers > 0).to(torch.uint8).argsort(descending=True, stable=True)[:how_many]


def _why_inactive(num_present: int, num_with_queries: int, kind: str, *, from_bank: bool) -> str | None:
    if num_present == 0:
        return "every pixel is ignored"
    if num_present == 1 and not from_bank:
        return "only one class is present"
    return None if num_with_queries else f"no pixel may be a {kind} query"


def _refuse_wrong_values(num_wrong: Tensor, pixels: ContrastPixels) -> None:
    num_labels, num_probabilities = num_wrong.tolist()
    if num_labels:
        raise UserError(
            f"labels: got {num_labels} pixels outside 0 to {pixels.num_classes - 1}, needs one of the "
            f"{pixels.num_classes} classes of `probabilities`, or {IGNORE} for a pixel that takes no part; "
            "where labels have another number for that, give it as ignore_index="
        )
    if num_probabilities:
        own = pixels.own_probability[~pixels.own_probability.isnan()]
        raise UserError(
            f"probabilities: got values from {own.min():.3g} to {own.max():.3g}, needs 0 to 1; "
            "for logits give logits.softmax(dim=1)"
        )


# How a query class rates the others: by the cosine (C, N) between the class means and a temperature; all
# alike; or by their pixels (N,), so that all pixels of other classes are alike.
NEGATIVES: dict[str, Callable[[Tensor, Tensor, float], Tensor]] = {
    "active": lambda cosines, counts, temperature: cosines / temperature,
    "uniform": lambda cosines, counts, temperature: torch.zeros_like(cosines),
    "pixels": lambda cosines, counts, temperature: counts.to(cosines).log().expand_as(cosines),
}


def negative_distribution(scores: Tensor, own: Tensor) -> Tensor:
    """How often the queries of each class meet each present class: (C, N), rows sum to 1.

    `scores` (C, N) go through a softmax; `own` (C, N) bool marks the query class itself, never drawn.
    """
    # Features that overflowed, as under a loss scaler, shall give a NaN loss, not a failing draw.
    return scores.float().nan_to_num(0).masked_fill(own, float("-inf")).softmax(dim=1)


@dataclass(frozen=True)
class KeySampler:
    """Draws negative pixels: a class by its probability, then any pixel of that class alike.

    In float32 and whole numbers, which all devices have.
    """

    upper: Tensor  # (C, N) float, cumulative probability up to and including a class
    starts: Tensor  # (N,) where the classes begin in `order`
    counts: Tensor  # (N,) pixels of the classes
    order: Tensor  # (P,) pixel numbers, grouped by class
    generator: torch.Generator | None

    @classmethod
    def of(
        cls, probability: Tensor, regions: Regions, present: Tensor, generator: torch.Generator | None
    ) -> KeySampler:
        """`probability` (C, N) of drawing from each present class (N,)."""
        upper = probability.float().cumsum(dim=1)
        upper = upper / upper[:, -1:]  # ends at exactly 1, where every random number is below
        return cls(upper, regions.starts[present], regions.counts[present], regions.order, generator)

    def draw(self, classes: slice, num_queries: int, num_keys: int) -> Tensor:
        """Pixel numbers (c, n, M) for n queries of each of the c classes in the slice; the M in class order.

        A first random number decides the class: the one in whose share of [0, 1) it falls. A second one
        decides the pixel.
        """
        upper = self.upper[classes]
        shape = (len(upper), num_queries, num_keys)
        ticket = sorted_uniforms(shape, upper.device, self.generator).view(len(upper), -1)  # (c, n * M)
        chosen = torch.searchsorted(upper, ticket, right=True)  # the own class has no share: never hit
        random = torch.randint(1 << _RANDOM_BITS, chosen.shape, generator=self.generator, device=upper.device)
        place = self.starts[chosen].add_(random.mul_(self.counts[chosen]) >> _RANDOM_BITS)
        return self.order[place].view(shape)


def sorted_uniforms(
    shape: tuple[int, ...], device: torch.device, generator: torch.Generator | None
) -> Tensor:
    """Independent uniform numbers in [0, 1), ascending along the last dimension.

    Sums of exponential gaps, divided by their total, are distributed as sorted uniform numbers are: no sort
    is needed. Sorted, because queries that go through their keys in the same order share the cache.
    """
    gaps = torch.rand(*shape[:-1], shape[-1] + 1, device=device, generator=generator)
    sums = gaps.neg_().add_(1).log_().cumsum(dim=-1)  # minus the gaps; 1 - u is never 0
    below_1 = 1 - torch.finfo(sums.dtype).eps / 2
    return (sums[..., :-1] / sums[..., -1:]).clamp_(max=below_1)  # a last gap of 0 cannot make a 1
