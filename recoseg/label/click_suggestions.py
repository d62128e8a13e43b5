"""Where to click next: cells that may be of a rare class, look unlike what is labelled, and are in doubt.

The rarer classes are, the more a cell counts that may be of one of them: no class takes more than its share
of clicks. The first cell looks like many others. Until two classes have labels, cells that look unlike all
labelled ones follow: they find the second class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from recoseg.label.candidate_pool import CandidatePool
from recoseg.label.messages import RADIUS, Spot
from recoseg.seeds import numpy_generator

_CANDIDATES, _OTHERS, _LABELLED = 2_000, 600, 2_000
"""Cells that may be suggested, cells that they are to resemble, and labelled cells that they are not to."""

_CERTAIN = 0.2
"""Weight of a cell without doubt, relative to one with two equally likely classes."""

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Knowledge:
    """Labelled pixels, and the learner's probabilities of the pool's cells, if there are any."""

    places: Mapping[str, Sequence[tuple[float, float]]]  # labelled and skipped places of images
    features: Tensor  # (n, C) of labelled pixels
    classes: Tensor  # (n,) their class ids
    probabilities: Tensor | None = None  # (N, K)
    known: Sequence[int] = ()  # (K,) class ids


def suggest_spots(pool: CandidatePool, knowledge: Knowledge, *, count: int, seed: int = 0) -> list[Spot]:
    """The best `count`, each with regard to those before it; fewer where the pool is used up."""
    if not pool.keys:
        return []
    places = knowledge.places
    random = numpy_generator(seed, "where to click", sum(map(len, places.values())))
    free = np.flatnonzero(~pool.near(places, RADIUS))
    cells = np.sort(random.permutation(free)[:_CANDIDATES])
    looks = directions(pool, pool.features[torch.from_numpy(cells)].float())
    labelled = knowledge.features
    if len(labelled) > _LABELLED:
        labelled = labelled[torch.from_numpy(np.sort(random.permutation(len(labelled))[:_LABELLED]))]
    if len(labelled):
        likeness = (looks @ directions(pool, labelled).t()).amax(1).double().numpy()
    else:  # the first one looks like many others
        others = torch.from_numpy(np.sort(random.permutation(len(pool.features))[:_OTHERS]))
        typical = (looks @ directions(pool, pool.features[others].float()).t()).clamp(min=0).mean(1)
        likeness = -typical.double().numpy()
    value = np.ones(len(cells))
    if knowledge.probabilities is not None:
        value = worth(knowledge.probabilities[torch.from_numpy(cells)], counts_of(knowledge))
    marks = np.array([len(places.get(key, ())) for key in pool.keys], dtype=np.float64)
    images, positions = pool.images[cells], pool.places[cells]
    allowed = np.ones(len(cells), dtype=bool)
    chosen: list[Spot] = []
    while len(chosen) < count and allowed.any():
        gain = value * (1 - likeness) / np.sqrt(1 + marks[images])
        best = int(np.where(allowed, gain, -1.0).argmax())
        chosen.append(_spot(pool, int(cells[best]), knowledge))
        marks[images[best]] += 1
        likeness = np.maximum(likeness, (looks @ looks[best]).numpy())
        near = (images == images[best]) & (np.abs(positions - positions[best]).max(1) < RADIUS)
        allowed &= ~near
    return chosen


def directions(pool: CandidatePool, features: Tensor) -> Tensor:
    """(n, C), of length 1, in the pool's terms: a channel counts by how unusual its value is."""
    middle, spread = pool.spread
    return F.normalize(((features - middle) / spread).clamp(-5, 5), dim=1)


def counts_of(knowledge: Knowledge) -> Values:
    """(K,) labelled pixels of each known class."""
    counts = torch.bincount(knowledge.classes, minlength=max(knowledge.known) + 1)
    return counts[torch.tensor(knowledge.known)].double().numpy()


def worth(probabilities: Tensor, counts: Values) -> Values:
    """(N, K) and (K,) -> (N,): expected rarity of the answer, times doubt about it."""
    rarity = probabilities.double() @ torch.from_numpy(1 / (1 + counts))
    first, second = probabilities.double().topk(2, dim=1).values.unbind(1)
    found: Values = (rarity * (_CERTAIN + (1 - _CERTAIN) * (1 - (first - second)))).numpy()
    return found


def _spot(pool: CandidatePool, cell: int, knowledge: Knowledge) -> Spot:
    x, y = pool.places[cell].tolist()
    key = pool.keys[int(pool.images[cell])]
    if knowledge.probabilities is None:
        return Spot(key, x, y, cell=cell)
    best = knowledge.probabilities[cell].topk(2)
    guess, second = (knowledge.known[int(k)] for k in best.indices)
    return Spot(key, x, y, guess, second, float(best.values[0]), cell)
