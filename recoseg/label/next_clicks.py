"""Where to click next: the cells of the pool that a click is expected to teach most.

A cell is worth more where the teacher wavers between two classes, more if the relation graph says that these
two are alike, more if few points of them are known, and more in an image, and of a look, unlike those seen.
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

RADIUS = 8 / 128
"""Of an image's side, within which nobody is asked again: eight cells of a map of 128."""

_LOOKED_AT = 2_000
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Spot:
    """A place in (0, 1) of an image, and what the learner thinks of it."""

    image: str
    x: float
    y: float
    guess: int | None = None  # class id
    second: int | None = None
    confidence: float | None = None
    cell: int = 0  # of the pool


@dataclass(frozen=True)
class Seen:
    """What is known when a spot is asked for."""

    places: Mapping[str, Sequence[tuple[float, float]]]  # labelled and skipped places of images
    features: Tensor  # (n, D) of labelled cells
    points: Mapping[int, int]  # labelled cells of each class id


@dataclass(frozen=True)
class Opinion:
    """What the learner says of the pool's cells."""

    probabilities: Tensor  # (N, K)
    classes: Sequence[int]  # (K,) ids
    relations: Relations


def next_spots(
    pool: CellPool, seen: Seen, opinion: Opinion | None, *, count: int, seed: int = 0
) -> list[Spot]:
    """The best `count`, one an image as long as there are enough images."""
    if not pool.keys:
        return []
    free = ~pool.near(seen.places, RADIUS)
    value = unlikeness(pool, seen.places)[pool.images]
    if opinion is not None:
        value = value * doubt(opinion) * confusion(opinion) * rarity(opinion, seen.points)
    else:
        value = value * np.random.default_rng(seed).random(len(value))
    best = np.argsort(-np.where(free, value, -1.0), kind="stable")[:_LOOKED_AT]
    best = best[free[best]]
    value = value[best] * novelty(pool.features[torch.from_numpy(best)].float(), seen.features, pool)
    return _spots(pool, best[np.argsort(-value, kind="stable")], opinion, count)


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


def unlikeness(pool: CellPool, places: Mapping[str, Sequence[tuple[float, float]]]) -> Values:
    """(images,) from 1/2 to 1: how far an image is, by cosine, from the nearest one with a mark."""
    marked = [number for number, key in enumerate(pool.keys) if places.get(key)]
    if not marked or len(pool.keys) < 2:
        return np.ones(len(pool.keys))
    pooled = pool.pooled
    directions = F.normalize((pooled - pooled.mean(0)) / pooled.std(0).clamp(min=1e-6), dim=1)
    nearest = (directions @ directions[marked].t()).amax(1)
    return (0.5 + 0.25 * (1 - nearest.double())).numpy()


def novelty(cells: Tensor, labelled: Tensor, pool: CellPool) -> Values:
    """(n,) from 1/2 to 1: how far cells (n, D) are from the nearest labelled one, by cosine."""
    if not len(labelled):
        return np.ones(len(cells))
    middle, spread = pool.spread
    directions, known = (F.normalize((one - middle) / spread, dim=1) for one in (cells, labelled))
    return (0.5 + 0.25 * (1 - (directions @ known.t()).amax(1).double())).numpy()


def _spots(pool: CellPool, order: NDArray[np.int64], opinion: Opinion | None, count: int) -> list[Spot]:
    images, places = pool.images[order], pool.places[order]
    first_of_image = np.zeros(len(order), dtype=bool)
    first_of_image[np.unique(images, return_index=True)[1]] = True
    turn = np.concatenate((np.flatnonzero(first_of_image), np.flatnonzero(~first_of_image)))[:count]
    spots = []
    for place in turn.tolist():
        cell, (x, y) = int(order[place]), places[place].tolist()
        spot = Spot(pool.keys[int(images[place])], x, y, cell=cell)
        if opinion is not None:
            best = opinion.probabilities[cell].topk(2)
            one, other = (opinion.classes[int(k)] for k in best.indices)
            spot = replace(spot, guess=one, second=other, confidence=float(best.values[0]))
        spots.append(spot)
    return spots
