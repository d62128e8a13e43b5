"""How the classes relate in a network's eyes: cosines of class means over a whole dataset, and their tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import numpy as np
import torch
from msgspec import Meta
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform
from torch import Tensor

from recoseg.evaluate.loop import Seen
from recoseg.losses.regional_contrast.prototypes import class_sums, inverse_lengths, unit_vectors
from recoseg.losses.shrink_labels import shrink_labels
from recoseg.records import Count


@dataclass(frozen=True)
class Branch:
    """Where two parts of a tree join; leaves have the distance 0 and the places 0, 1, 2, ..."""

    distances: tuple[float, float, float]  # 1 - cosine of the one part, of both together, of the other part
    places: tuple[float, float]  # of the one part and of the other, among the leaves
    members: tuple[int, ...]  # all classes of both, in the order of the leaves


@dataclass(frozen=True)
class Tree:
    """Average linkage on 1 - cosine, with its leaves in the order that puts like ones side by side."""

    leaves: tuple[int, ...]  # classes from the first leaf to the last
    classes: tuple[int, ...]  # what the numbers 0, 1, ... of `linkage` mean
    linkage: NDArray[np.float64]  # (number of classes - 1, 4), as SciPy has it

    def branches(self) -> list[Branch]:
        """For whoever draws it, from the closest pair to the root."""
        order = {leaf: place for place, leaf in enumerate(self.leaves)}
        distances, places = [0.0] * len(self.classes), [float(order[index]) for index in self.classes]
        members = [[index] for index in self.classes]
        found = []
        for one, other, distance, _ in self.linkage.tolist():
            parts = int(one), int(other)
            first, second = (places[part] for part in parts)
            below = sorted((index for part in parts for index in members[part]), key=order.__getitem__)
            steps = distances[parts[0]], distance, distances[parts[1]]
            found.append(Branch(steps, (first, second), tuple(below)))
            distances.append(distance)
            places.append((first + second) / 2)
            members.append(below)
        return found


class PlainRelations(TypedDict):
    """What `Relations.as_plain` gives."""

    graph: list[list[Annotated[float, Meta(ge=-1, le=1)] | None]]
    pixels: list[Count]


@dataclass(frozen=True)
class Relations:
    """Eq. 3 with means over all images: how alike any two classes are, from -1 to 1."""

    graph: Tensor  # (K, K) float64; NaN for a class without a mean
    counts: Tensor  # (K,) int64, the cells of each class that its mean was taken over

    @property
    def absent(self) -> tuple[int, ...]:
        """Classes that nothing can be said about: no pixel, or a mean of length 0, which has no direction."""
        return tuple(self.graph.diagonal().isnan().nonzero()[:, 0].tolist())

    @property
    def present(self) -> tuple[int, ...]:
        return tuple((~self.graph.diagonal().isnan()).nonzero()[:, 0].tolist())

    @property
    def mean_similarity(self) -> float:
        """Mean cosine of two different classes: the lower, the better told apart. NaN with fewer than two."""
        known = self.graph[~self.graph.isnan() & ~torch.eye(len(self.graph), dtype=torch.bool)]
        return float(known.mean())

    def closest(self, most: int = 1) -> list[tuple[int, int]]:
        """The pairs of different classes that are most alike, the closest first."""
        first, second = torch.triu_indices(len(self.graph), len(self.graph), offset=1)
        cosines = self.graph[first, second]
        known = ~cosines.isnan()
        order = cosines[known].argsort(descending=True, stable=True)[:most]
        pairs = torch.stack((first[known][order], second[known][order]), dim=1)
        return [(int(one), int(other)) for one, other in pairs]

    def tree(self) -> Tree | None:
        """The hierarchy of the present classes; None with fewer than two."""
        classes = self.present
        if len(classes) < 2:
            return None
        distances = (1 - self.graph[list(classes)][:, list(classes)]).clamp(min=0).numpy()
        joined = linkage(squareform(distances, checks=False), method="average", optimal_ordering=True)
        leaves = tuple(classes[place] for place in leaves_list(joined).tolist())
        return Tree(leaves, classes, joined)

    def as_plain(self) -> dict[str, Any]:
        """For a JSON file: NaN is null."""
        rows = self.graph.tolist()
        graph = [[None if value != value else value for value in row] for row in rows]
        return {"graph": graph, "pixels": self.counts.tolist()}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Relations:
        rows = [[float("nan") if value is None else value for value in row] for row in plain["graph"]]
        return cls(torch.tensor(rows, dtype=torch.float64), torch.tensor(plain["pixels"], dtype=torch.int64))


class RelationsCounter:
    """Sums of each kind of embedding over the pixels of each true class; `relations()` of what was added."""

    needs_embeddings = True

    def __init__(self, num_classes: int) -> None:
        self.num_classes = num_classes
        self.sums: dict[str, ClassSums] = {}

    def fresh(self) -> RelationsCounter:
        return RelationsCounter(self.num_classes)

    def add(self, seen: Seen) -> None:
        for name, embeddings in seen.embeddings.items():
            self.sums.setdefault(name, ClassSums(self.num_classes)).add(embeddings, seen.labels)

    def take(self, other: RelationsCounter) -> None:
        for name, sums in other.sums.items():
            self.sums.setdefault(name, ClassSums(self.num_classes)).take(sums)

    def relations(self) -> dict[str, Relations]:
        return {name: sums.relations() for name, sums in self.sums.items()}


class ClassSums:
    """Sums of embeddings over the pixels of each true class, batch by batch: memory does not grow."""

    def __init__(self, num_classes: int) -> None:
        self.num_classes = num_classes
        self.sums: Tensor | None = None  # (K, D) float64
        self.counts = torch.zeros(num_classes, dtype=torch.int64)

    def add(self, embeddings: Tensor, labels: Tensor) -> None:
        """(B, D, h, w), and labels (B, H, W) that are brought down to it; what is not a class is left out."""
        cells = shrink_labels(labels.long(), embeddings.shape[2:])
        cells = cells.clamp(max=self.num_classes)  # K: takes no part
        sums = class_sums(embeddings.double(), cells, self.num_classes).cpu()
        self.sums = sums if self.sums is None else self.sums + sums
        self.counts += cells.flatten().bincount(minlength=self.num_classes + 1)[: self.num_classes].cpu()

    def take(self, other: ClassSums) -> None:
        if other.sums is not None:
            self.sums = other.sums if self.sums is None else self.sums + other.sums
        self.counts += other.counts

    def relations(self) -> Relations:
        sums = torch.zeros(self.num_classes, 1, dtype=torch.float64) if self.sums is None else self.sums
        means = sums / self.counts.clamp(min=1)[:, None]
        directions = unit_vectors(means)
        graph = directions @ directions.t()
        graph = ((graph + graph.t()) / 2).clamp(-1, 1)  # rounding knows neither symmetry nor 1
        undirected = inverse_lengths(means) == 0
        return Relations(graph.masked_fill(undirected[:, None] | undirected, float("nan")), self.counts)


def leaf_order(relations: Sequence[Relations]) -> tuple[int, ...]:
    """An order of classes for several graphs: the leaves of the first tree, then what only others have."""
    trees = [tree for tree in (one.tree() for one in relations) if tree is not None]
    leaves = trees[0].leaves if trees else ()
    known = sorted({number for one in relations for number in one.present})
    return tuple(dict.fromkeys((*leaves, *known)))
