"""Where to click next: the cells of the pool whose answer would tell most about cells that matter.

A click tells of what looks like it: its value is how much nearer, by cosine of features, other cells come
to a labelled one (coverage: diversity and typicality in one). Cells count more where the teacher wavers
between two classes, more if the relation graph says that these are alike, and more if few points of them are
known; and a click counts more in an image unlike those with marks. Doubt alone asks for contours and odd
things, which tell of little else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from recoseg.evaluate.class_relations import Relations
from recoseg.label.cell_pool import CellPool
from recoseg.label.messages import RADIUS, Spot
from recoseg.seeds import numpy_generator

_CANDIDATES, _OTHERS, _LABELLED = 1_000, 2_000, 2_000
"""Cells that are looked at: that may be asked for, that they may tell of, and that are known."""

_SURE = 0.2
"""What a cell counts about which there is no doubt, beside 1 for one with two likeliest classes."""

Values = NDArray[np.float64]
PlacesByImage = Mapping[str, Sequence[tuple[float, float]]]


@dataclass(frozen=True)
class Seen:
    """What is known when a spot is asked for."""

    places: PlacesByImage  # labelled and skipped places of images
    features: Tensor  # (n, D) of labelled cells
    points: Mapping[int, int]  # labelled cells of each class id


@dataclass(frozen=True)
class Opinion:
    """What the learner says of the pool's cells."""

    probabilities: Tensor  # (N, K)
    classes: Sequence[int]  # (K,) ids
    relations: Relations

    def of(self, cells: NDArray[np.int64]) -> Opinion:
        return replace(self, probabilities=self.probabilities[torch.from_numpy(cells)])


def next_spots(
    pool: CellPool, seen: Seen, opinion: Opinion | None, *, count: int, seed: int = 0
) -> list[Spot]:
    """The best `count`, each with regard to those before it; fewer where the pool is used up."""
    if not pool.keys:
        return []
    random = numpy_generator(seed, "where to click", sum(map(len, seen.places.values())))
    candidates = np.flatnonzero(~pool.near(seen.places, RADIUS))
    candidates = np.sort(random.permutation(candidates)[:_CANDIDATES])
    others = np.sort(random.permutation(len(pool.features))[:_OTHERS])
    known = seen.features
    if len(known) > _LABELLED:
        known = known[torch.from_numpy(np.sort(random.permutation(len(known))[:_LABELLED]))]
    weights = np.ones(len(others)) if opinion is None else worth(opinion.of(others), seen.points)
    factors = unlikeness(pool, seen.places)[pool.images[candidates]]
    chosen = covering(
        directions(pool, pool.features[torch.from_numpy(candidates)].float()),
        directions(pool, pool.features[torch.from_numpy(others)].float()),
        directions(pool, known),
        torch.from_numpy(weights).float(),
        torch.from_numpy(factors).float(),
        apart=_apart(pool, candidates),
        count=count,
    )
    return [_spot(pool, int(candidates[place]), opinion) for place in chosen]


def covering(
    candidates: Tensor,
    others: Tensor,
    known: Tensor,
    weights: Tensor,
    factors: Tensor,
    *,
    apart: NDArray[np.bool_],
    count: int,
) -> list[int]:
    """Greedy coverage: numbers of candidates (C, D), each that which brings most to others (O, D).

    All are directions. Another cell is covered as far as its nearest known (n, D) or chosen cell is like it;
    it counts by its weight (O,), a candidate by its factor (C,). Of two candidates of which `apart` (C, C) is
    not true, one is chosen at most.
    """
    alike = candidates @ others.t()  # (C, O)
    covered = (known @ others.t()).amax(0) if len(known) else torch.full((len(others),), -1.0)
    allowed = torch.ones(len(candidates), dtype=torch.bool)
    chosen: list[int] = []
    while len(chosen) < count and bool(allowed.any()):
        gain = (alike - covered).clamp(min=0) @ weights * factors
        best = int(gain.masked_fill(~allowed, -1.0).argmax())
        chosen.append(best)
        covered = torch.maximum(covered, alike[best])
        allowed &= torch.from_numpy(apart[best])
    return chosen


def directions(pool: CellPool, features: Tensor) -> Tensor:
    """(n, D), of length 1, in the pool's terms: a channel counts by how unusual its value is."""
    middle, spread = pool.spread
    return F.normalize(((features - middle) / spread).clamp(-5, 5), dim=1)


def worth(opinion: Opinion, points: Mapping[int, int]) -> Values:
    """(N,) how much there is to learn about cells."""
    return (_SURE + (1 - _SURE) * doubt(opinion)) * confusion(opinion) * rarity(opinion, points)


def doubt(opinion: Opinion) -> Values:
    """(N,) one minus the margin between the two likeliest classes."""
    first, second = opinion.probabilities.topk(2, dim=1).values.double().unbind(1)
    return (1 - (first - second)).numpy()


def confusion(opinion: Opinion) -> Values:
    """(N,) from 1/2 to 1: how alike the graph says the two likeliest classes are."""
    one, other = opinion.probabilities.topk(2, dim=1).indices.unbind(1)
    cosines = opinion.relations.graph.nan_to_num(0.0)[one, other]
    return (0.5 + 0.25 * (1 + cosines)).numpy()


def rarity(opinion: Opinion, points: Mapping[int, int]) -> Values:
    """(N,) from 1/2 to 1: how few points the rarer of the two likeliest classes has."""
    counts = torch.tensor([points.get(one, 0) for one in opinion.classes], dtype=torch.float64)
    scarce = (1 + counts).rsqrt()
    two = opinion.probabilities.topk(2, dim=1).indices
    return (0.5 + 0.5 * scarce[two].amax(1) / scarce.max()).numpy()


def unlikeness(pool: CellPool, places: PlacesByImage) -> Values:
    """(images,) from 1/2 to 1: how far an image is, by cosine, from the nearest one with a mark."""
    marked = [number for number, key in enumerate(pool.keys) if places.get(key)]
    if not marked or len(pool.keys) < 2:
        return np.ones(len(pool.keys))
    pooled = pool.pooled
    standard = F.normalize((pooled - pooled.mean(0)) / pooled.std(0).clamp(min=1e-6), dim=1)
    nearest = (standard @ standard[marked].t()).amax(1)
    return (0.5 + 0.25 * (1 - nearest.double())).numpy()


def _apart(pool: CellPool, cells: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(n, n) whether two cells are in different images, or at least `RADIUS` apart."""
    images, places = pool.images[cells], pool.places[cells]
    gaps = np.abs(places[:, None] - places[None]).max(2)
    apart: NDArray[np.bool_] = (images[:, None] != images) | (gaps >= RADIUS)
    return apart


def _spot(pool: CellPool, cell: int, opinion: Opinion | None) -> Spot:
    x, y = pool.places[cell].tolist()
    spot = Spot(pool.keys[int(pool.images[cell])], x, y, cell=cell)
    if opinion is None:
        return spot
    best = opinion.probabilities[cell].topk(2)
    one, other = (opinion.classes[int(k)] for k in best.indices)
    return replace(spot, guess=one, second=other, confidence=float(best.values[0]))
